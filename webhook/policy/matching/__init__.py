"""Which policies are for a request: resource rules, selectors, exceptions."""
