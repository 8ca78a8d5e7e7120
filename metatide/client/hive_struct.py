"""What the structs of answers share."""

import msgspec


class HiveStruct(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object of the metastore. Fields of newer servers that it lacks are left out."""
