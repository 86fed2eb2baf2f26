"""QueuePolicy files as the rules of the queue core."""
