"""The exact form of a program: an interpreter of closures that evaluates and counts costs exactly as cel-go does."""
