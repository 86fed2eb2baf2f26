"""`sluice dry-run`: what would happen to objects under policies, and what a change of policies changes."""
