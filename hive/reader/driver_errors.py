"""Errors of database drivers, in one line."""


def driver_reason(error: Exception) -> str:
    """The first line of what the driver said, or of the error itself if it isn't a driver's; the
    name of its type if it says nothing."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
