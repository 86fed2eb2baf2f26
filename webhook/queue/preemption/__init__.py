"""Search for preemption victims: the classic algorithm, and the one under fair sharing."""
