"""Booleans as the drivers of different databases give them."""


def flag(value: object) -> bool:
    """A boolean from a boolean, a number, MySQL's bit or Derby's letter; null counts as false."""
    if isinstance(value, bytes):
        return any(value)
    if isinstance(value, str):
        return value.upper() == "Y"
    return bool(value)
