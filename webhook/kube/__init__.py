"""The Kubernetes API as values: quantities, kinds, selectors, patches, merge, schemas. No client, no I/O."""
