"""Object storage: the `ObjectStore` protocol and its in-memory form; the live one is `cluster.api.live_store`."""
