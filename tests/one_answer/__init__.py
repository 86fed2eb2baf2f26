"""One engine, one answer: every tool is asked about the same object, and all must say the same."""
