"""Text to nodes: tokens, literals, macros and the parser. No types here."""
