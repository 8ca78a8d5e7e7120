"""The configuration keys, as `schema` declares them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from metatide.config.schema import Config
from metatide.config.section import Section
from metatide.config.values import ClassPath, Location, Secret, resolved

PREFIX = "METATIDE_"
FILE_SUFFIX = "_file"


@dataclass(frozen=True)
class Key:
    """A configuration key."""

    name: str
    doc: str
    option: str | None
    type: Any
    default: Callable[[], object]
    default_text: str | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.replace(".", "_").upper()

    @property
    def plain_type(self) -> Any:
        """The type without `None` and bounds."""
        hint = _bare(self.type)
        if get_origin(hint) is Literal:
            return hint
        plain = [arg for arg in get_args(hint) if arg is not NoneType]
        return _bare(plain[0]) if plain else hint

    @property
    def secret(self) -> bool:
        return self.plain_type is Secret

    def convert(self, value: object, base: Path, *, text: bool) -> object:
        """Converts a value to the key's type, with relative paths resolved against `base`.
        ValueError says what is wrong.

        If the value comes from a `text`, such as an environment variable, it may spell a number.
        """

        def custom(kind: Any, given: object) -> object:
            if not isinstance(given, str):
                raise ValueError(f"expected a text, got {given!r}")
            if issubclass(kind, Location | ClassPath):
                return kind.within(given, base)
            return resolved(given, base) if kind is Path else kind(given)

        strict = not (text and self.plain_type in (int, bool))
        try:
            return msgspec.convert(value, self.type, strict=strict, dec_hook=custom)
        except msgspec.ValidationError as error:
            expected = self._expected
            if expected is None:
                raise ValueError(str(error)) from error
            is_quoted = not text and isinstance(value, str) and self.plain_type in (int, bool)
            quotes = " without quotes" if is_quoted else ""
            raise ValueError(f"expected {expected}{quotes}") from error

    @property
    def _expected(self) -> str | None:
        """The values that there are, in words; None if the type has errors of its own."""
        plain = self.plain_type
        if get_origin(plain) is Literal:
            *others, last = get_args(plain)
            return f"{', '.join(others)} or {last}"
        return {bool: "true or false", int: self._bounded_number, str: "a text"}.get(plain)

    @property
    def _bounded_number(self) -> str:
        # Bounds of a number that may be left out are its own.
        hints = self.type, *get_args(_bare(self.type))
        metas = [meta for hint in hints for meta in getattr(hint, "__metadata__", ())]
        least = [f"at least {meta.ge}" for meta in metas if meta.ge is not None]
        most = [f"at most {meta.le}" for meta in metas if meta.le is not None]
        bounds = least + most
        return f"a whole number{' of ' if bounds else ''}{' and '.join(bounds)}"


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _walk(section: type[Section], prefix: str) -> Iterator[Key]:
    hints = get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        name, hint = prefix + field.name, hints[field.name]
        if isinstance(hint, type) and issubclass(hint, Section):
            yield from _walk(hint, f"{name}.")
            continue
        meta = hint.__metadata__[0]
        assert isinstance(meta, msgspec.Meta), f"{name} is declared without key()"
        assert meta.description, f"{name} is declared without saying what it is for"
        assert meta.extra is not None
        yield Key(name, meta.description, type=hint, default=_default(field), **meta.extra)
        if Secret in get_args(get_args(hint)[0]):
            doc = f"A file that holds `{name}`."
            yield Key(name + FILE_SUFFIX, doc, None, Path | None, lambda: None)


def _default(field: msgspec.structs.FieldInfo) -> Callable[[], object]:
    if field.default_factory is not msgspec.NODEFAULT:
        factory: Callable[[], object] = field.default_factory
        return factory
    assert field.default is not msgspec.NODEFAULT, f"{field.name} has no default"
    return lambda: field.default


KEYS: Mapping[str, Key] = {key.name: key for key in _walk(Config, "")}


def build(values: Mapping[str, object]) -> Config:
    """The configuration with the values of all keys."""

    def part(section: type[Section], prefix: str) -> Section:
        hints = get_type_hints(section)
        return section(
            **{
                name: part(hint, f"{prefix}{name}.")
                if isinstance(hint, type) and issubclass(hint, Section)
                else values[prefix + name]
                for name, hint in hints.items()
            }
        )

    config = part(Config, "")
    assert isinstance(config, Config)
    return config


def nearest(wrong: str, right: Mapping[str, object]) -> str:
    """The most similar name."""
    return max(right, key=lambda name: SequenceMatcher(None, name, wrong).ratio())
