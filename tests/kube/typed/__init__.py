"""Objects of built-in kinds as Sluice reads them, held against what a real API server sends to a webhook."""
