"""Objects read from a live cluster for `plan` and `dry-run`. Nothing is written."""
