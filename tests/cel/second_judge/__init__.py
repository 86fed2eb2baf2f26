"""cel-python as a second judge of what expressions of the specification give."""
