"""Storage descriptors in parsed TJSON that are the same but for their locations."""

from typing import Any, Final

LOCATION: Final = "2"
"""The field of the location."""


class DescriptorShape:
    """All of a descriptor but its location; must not be changed."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields


class SharedDescriptor(dict[str, Any]):
    """A parsed descriptor whose shape others share."""

    __slots__ = ("location", "shape")

    def __init__(self, shape: DescriptorShape, location: str) -> None:
        super().__init__(shape.fields)
        self[LOCATION] = {"str": location}
        self.shape = shape
        self.location = location
