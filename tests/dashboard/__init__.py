"""The page: what it answers, and how it looks."""
