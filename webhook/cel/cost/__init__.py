"""The static cost estimate of an expression, as in cel-go."""
