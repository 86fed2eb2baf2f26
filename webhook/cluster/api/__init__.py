"""The API server as the rest sees it: client, live store, local view, leader lease, fenced writes."""
