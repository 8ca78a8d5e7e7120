"""What the sections of the configuration are made of."""

import msgspec


def key(
    doc: str,
    *,
    option: str | None = None,
    default: str | None = None,
    ge: int | None = None,
    le: int | None = None,
) -> msgspec.Meta:
    """Describes a key: its purpose, its command-line option, and its bounds.

    `default` describes a default that depends on the machine.
    """
    return msgspec.Meta(
        description=doc, ge=ge, le=le, extra={"option": option, "default_text": default}
    )


class Section(msgspec.Struct, frozen=True):
    """A table in `metatide.toml`."""
