"""Names that an API server would make: in files an object may have a `generateName` alone."""


def generated_name(prefix: str, number: int) -> str:
    """Return the name of the first, second, ... object with a `generateName`, the same in every command."""
    return f"{prefix}x{number if number > 1 else ''}"
