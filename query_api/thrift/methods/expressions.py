"""Calls whose conditions are serialized expressions of Hive's compiler."""

from typing import Protocol

from query_api.thrift.call import Unable
from query_api.thrift.methods.request import Arguments


class Expressions(Protocol):
    """Reads expressions."""

    def known(self, expression: bytes, /) -> str | Unable | None:
        """The text of a filter, or why there is none; None where `text` must be awaited."""
        ...

    async def text(self, expression: bytes, /) -> str | Unable: ...


def expression_of(given: Arguments) -> bytes:
    """Of a call by expression."""
    found: bytes = given["req"]["expr"]
    return found


def with_text(given: Arguments, text: str) -> Arguments:
    """The same call with a filter instead."""
    return {**given, "req": {**given["req"], "expr": text.encode()}}
