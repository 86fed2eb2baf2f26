"""The queue core in a cluster: the view's objects go in, decisions and the order of what waits come out."""
