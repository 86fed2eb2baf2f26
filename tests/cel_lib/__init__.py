"""The function libraries, row by row."""
