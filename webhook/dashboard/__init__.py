"""The page: what the queues and policies of this replica look like, as JSON and as a page that draws it. Read only."""
