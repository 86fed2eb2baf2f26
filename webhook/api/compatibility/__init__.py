"""The table of supported features of Kueue and Volcano, used by lint, by pending reasons, and by a page of the docs."""
