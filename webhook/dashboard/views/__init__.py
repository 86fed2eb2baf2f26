"""What each view of the page shows, made from the state of the core; named as the views in static/."""
