"""The journal: an append-only record of the queue core's decisions and their inputs, for queries and replay."""
