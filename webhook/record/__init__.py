"""`sluice replay`: records reviews, masks secrets, and evaluates the records under other policies."""
