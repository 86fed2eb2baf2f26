"""Queue settings as in Kueue's Configuration, read from that or from Sluice's own configuration."""
