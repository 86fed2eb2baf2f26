"""What was: from the journal where one is written, else from what this replica saw."""
