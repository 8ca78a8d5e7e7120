"""How PostgreSQL executed the statements that it really got, by its extension auto_explain."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa

_SETTINGS = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_timing = off",
    "SET auto_explain.log_format = json",
    "SET client_min_messages = log",
)


@dataclass(frozen=True)
class Plan:
    """One statement and how it was executed."""

    statement: str
    is_compiled: bool
    nodes: tuple[Mapping[str, Any], ...]

    def rows_read(self, table: str) -> int:
        """The number of a table's rows that were read, whether needed or not."""
        return sum(
            int(node["Actual Loops"])
            * (int(node["Actual Rows"]) + int(node.get("Rows Removed by Filter", 0)))
            for node in self.nodes
            if node.get("Relation Name") == table
        )

    def reads_whole(self, table: str) -> bool:
        return any(
            node["Node Type"] == "Seq Scan" and node["Relation Name"] == table
            for node in self.nodes
        )


@contextmanager
def recorded() -> Iterator[list[Plan]]:
    """Records the plans of all statements in the connections that are opened meanwhile."""
    plans: list[Plan] = []

    def listen(connection: Any, _: object) -> None:
        if not isinstance(connection, psycopg.Connection):
            return
        connection.add_notice_handler(lambda notice: _note(plans, notice.message_primary or ""))
        for setting in _SETTINGS:
            connection.execute(setting)
        connection.commit()

    sa.event.listen(sa.Engine, "connect", listen)
    try:
        yield plans
    finally:
        sa.event.remove(sa.Engine, "connect", listen)


def _note(plans: list[Plan], message: str) -> None:
    _, is_plan, text = message.partition("plan:\n")
    if not is_plan:
        return
    told = json.loads(text)
    plans.append(Plan(told["Query Text"], "JIT" in told, tuple(_nodes(told["Plan"]))))


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for under in node.get("Plans", ()):
        yield from _nodes(under)
