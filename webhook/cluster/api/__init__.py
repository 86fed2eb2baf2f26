"""Access to the API server: client, live store, local view, leader election, fenced writes."""
