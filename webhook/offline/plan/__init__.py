"""`sluice plan`: the objects of a cluster in, queue decisions out."""
