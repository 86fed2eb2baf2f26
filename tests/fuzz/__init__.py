"""Random input at every door that takes text from outside: `python -m tests.fuzz SECONDS`."""
