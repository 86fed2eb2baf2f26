"""A day of three queues, lived by a real daemon: what the documentation's pictures show."""
