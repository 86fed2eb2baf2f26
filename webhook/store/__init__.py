"""Object storage: the `ObjectStore` protocol and its in-memory form. The live one is `cluster.api.live_store`."""
