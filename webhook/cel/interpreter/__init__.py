"""The exact form: a checked tree as closures that evaluate and charge as cel-go does."""
