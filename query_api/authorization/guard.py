"""Which answers of the cache a client gets, and which are left to metastores."""

from collections.abc import Iterable
from typing import Final

from hive.errors import InputError
from hive.patterns import compile_pattern
from query_api.authorization.areas import AreaPattern, areas_of
from query_api.authorization.authorizer import Authorizer, Reader
from query_api.positions import Position
from query_api.targets import Target

CALL: Final = "()"
"""What a pattern of methods ends with."""


class Guard:
    """Leaves what patterns name to metastores, and what an authorizer doesn't allow."""

    def __init__(self, left: Iterable[str] = (), authorizer: Authorizer | None = None) -> None:
        """`left` are patterns of tables and databases, and of methods with `()` behind them. Raises
        InputError.
        """
        methods, areas = patterns_of(left)
        self._methods = compile_pattern("|".join(methods)) if methods else None
        self._areas = areas
        self.authorizer: Final = authorizer

    @property
    def is_on(self) -> bool:
        return bool(self._areas or self._methods or self.authorizer is not None)

    def leaves_method(self, method: str) -> bool:
        """Whether metastores answer all calls of a method."""
        return self._methods is not None and self._methods.fullmatch(method.lower()) is not None

    def leaves(self, targets: tuple[Target, ...] | None) -> bool:
        """Whether metastores answer what is made of these targets. None stands for what isn't
        known.
        """
        if targets is None:
            return bool(self._areas or self.authorizer is not None)
        if not self._areas:
            return False
        areas = areas_of(targets)
        return any(pattern.touches(area) for pattern in self._areas for area in areas)

    async def allows(self, reader: Reader, targets: tuple[Target, ...], position: Position) -> bool:
        """Whether a user may see what is made of these targets, as of this position, where there is
        an authorizer.
        """
        assert self.authorizer is not None
        return await self.authorizer.may_see(reader, areas_of(targets), position)


def patterns_of(texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[AreaPattern, ...]]:
    """Those of methods, and those of tables and databases. Raises InputError."""
    methods, areas = [], []
    for text in texts:
        if text.endswith(CALL):
            method = text.removesuffix(CALL)
            if not method.replace("*", "").replace("_", "").isalnum() and method != "*":
                raise InputError(f"{text!r} isn't a pattern of methods: expected NAME()")
            methods.append(method)
        else:
            areas.append(text)
    return tuple(methods), AreaPattern.several(areas)


OPEN: Final = Guard()
"""Everybody may see everything."""
