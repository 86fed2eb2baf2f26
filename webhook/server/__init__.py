"""The HTTP server: admission, conversion, health, metrics. It decides nothing; an `Engine` does."""
