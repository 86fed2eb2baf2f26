"""How Go reads and writes addresses, URLs and texts. No function of the language is here."""
