"""A year of jobs through the store in memory and the real controller, in virtual time."""
