"""Objects of built-in kinds as the API server holds them: read into Go's types, given defaults, written again."""
