"""Policy files in, an immutable bundle out; matching, validating and mutating by it."""
