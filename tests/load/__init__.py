"""Kueue's load runner against Sluice, beside the least that a controller can do; by hand: `make load KUEUE=dir`."""
