"""`sluice replay`: reviews are recorded, masked, and run against other policies."""
