"""The fast form of a program: Python source generated from a checked tree, for the common case of each operation."""
