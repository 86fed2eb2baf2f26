"""Kueue's features as settings: what its Configuration says, read from that or from Sluice's own configuration."""
