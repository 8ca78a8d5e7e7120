"""Calls whose conditions are serialized expressions of Hive's compiler."""

from typing import Protocol

from query_api.thrift.call import RelayReason
from query_api.thrift.methods.request import Arguments


class Expressions(Protocol):
    """Reads expressions."""

    def at_once(self, expression: bytes, /) -> str | RelayReason | None:
        """The filter's text, or why there is none; None if `text` must be awaited."""
        ...

    async def text(self, expression: bytes, /) -> str | RelayReason: ...


def expression_of(arguments: Arguments) -> bytes:
    """The serialized expression of a call."""
    expression: bytes = arguments["req"]["expr"]
    return expression


def with_text(arguments: Arguments, text: str) -> Arguments:
    """The call with a filter in place of the expression."""
    return {**arguments, "req": {**arguments["req"], "expr": text.encode()}}
