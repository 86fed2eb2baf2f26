"""Built-in kinds as the API server stores them: decoded into Go's types, defaulted, and encoded again."""
