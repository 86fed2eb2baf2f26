"""The fast form: a checked tree as Python source that runs the ordinary case straight."""
