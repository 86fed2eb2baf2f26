"""Where objects live: the `ObjectStore` Protocol and its in-memory form. The live form is in `webhook.cluster`."""
