"""What the sections of the configuration are made of."""

import msgspec

from hive.errors import InputError


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


def require_together(section: Section, *names: str) -> None:
    """Raises InputError if some of these keys are set and others aren't."""
    are_set = [getattr(section, name) is not None for name in names]
    if any(are_set) and not all(are_set):
        table = type(section).__name__.lower()
        *others, last = [f"{table}.{name}" for name in names]
        both, neither = ("both", "neither") if len(names) == 2 else ("all of", "none")
        raise InputError(f"set {both} {', '.join(others)} and {last}, or {neither}")
