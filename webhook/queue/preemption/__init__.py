"""Who must give quota back: the classic search, and the one under fair sharing."""
