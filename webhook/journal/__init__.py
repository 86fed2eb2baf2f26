"""The journal: every decision of the queue core with what it was made from, append-only, for asking and replaying."""
