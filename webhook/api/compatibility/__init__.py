"""What of Kueue and Volcano is supported: one table, read by lint, by the reason of waiting, and by a page."""
