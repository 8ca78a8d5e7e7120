"""The session settings that our reads of the database need."""

from typing import Any, Final

from sqlalchemy import Engine, event

_JIT_SINCE: Final = 110_000
"""The first release of PostgreSQL that compiles statements."""
_GROWN_EVENTS: Final = 1_000
DROP_PLANS: Final = "DISCARD PLANS"
"""PostgreSQL's command; MySQL and MariaDB plan each execution anew."""


def prepare_sessions(engine: Engine) -> None:
    """Applies settings to every new connection of the engine.

    They aren't connection options, because poolers such as PgBouncer refuse those.
    """
    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", _prepare)


def _prepare(connection: Any, _: object) -> None:
    if connection.info.server_version < _JIT_SINCE:
        return
    # Compiling a statement takes a hundred times as long as running our longest one.
    connection.execute("SET jit = off")
    connection.commit()


class PlanAge:
    """Tells when a session's cached plans are out of date: the log has grown a lot.

    The best plan for a short log reads all of it. If nobody gathers statistics, the server would
    keep that plan when the log is long.
    """

    def __init__(self) -> None:
        self._made_at: int | None = None

    def outgrown(self, event: int) -> bool:
        """Notes the last event seen; to be called before statements about the events after it.
        True if the plans are to be dropped before.
        """
        if self._made_at is None:
            self._made_at = event
        if event < self._made_at + _GROWN_EVENTS:
            return False
        self._made_at = event
        return True
