"""The health of the cache: what it lacks, how its connectors are, and how urgent that is."""

from collections.abc import Sequence

import msgspec

from metatide.health.heartbeats import Heard
from metatide.health.thresholds import Level, Thresholds, worst
from query_api.latest.missing_events import Missing


class ConnectorHealth(msgspec.Struct, frozen=True):
    """A connector as its last heartbeat describes it."""

    name: str
    host: str
    address: str
    level: Level
    silent_s: float
    """How long ago it was last heard."""
    quiet_s: float
    """How long ago it last read the log, as far as is known."""
    epoch: int
    position: int
    """The last event that it has published."""
    sequence: int
    """The last event that it saw in the database."""
    loads_waiting: int
    leads: int
    """The partitions of the signals topic whose requests it answers."""
    partitions: int
    """All partitions of the signals topic."""
    fault: str | None
    loads_running: int = 0
    partitions_loaded: int = 0
    """How many partitions it has loaded since it began."""


class Health(msgspec.Struct, frozen=True):
    """The health of the cache, as one process sees it now."""

    level: Level
    problems: list[str]
    event: int | None
    """The last event of the database; null if it can't be read."""
    missing_events: int | None
    """How many events the database has and the cache hasn't."""
    missing_age_s: float | None
    """The age of the oldest of them."""
    thresholds: Thresholds
    connectors: list[ConnectorHealth]

    @property
    def age_s(self) -> float:
        """The age of what is missing, as far as is known."""
        return self.missing_age_s or 0.0


def judge(
    connectors: Sequence[Heard],
    missing: Missing | None,
    thresholds: Thresholds,
    *,
    unheard_s: float,
    unmeasured: str | None = None,
) -> Health:
    """The health by what was heard and measured.

    `unheard_s` tells for how long nobody was heard, if nobody was; `unmeasured` why it isn't known
    what is missing, if that is a fault.
    """
    judged = [_connector(each, thresholds) for each in connectors]
    problems = [
        *_of_missing(missing, thresholds, unmeasured),
        *_of_connectors(judged, thresholds, unheard_s),
    ]
    return Health(
        worst(level for level, _ in problems),
        [text for _, text in sorted(problems, key=_urgency)],
        None if missing is None else missing.current,
        None if missing is None else missing.events,
        None if missing is None else round(missing.age_s, 3),
        thresholds,
        judged,
    )


def combined(healths: Sequence[Health]) -> Health:
    """The health as several processes see it. Each connector is as it was last heard by any."""
    worse = max(healths, key=lambda health: (tuple(Level).index(health.level), health.age_s))
    connectors: dict[tuple[str, str], ConnectorHealth] = {}
    for health in healths:
        for each in health.connectors:
            key = each.name, each.host
            if key not in connectors or each.silent_s < connectors[key].silent_s:
                connectors[key] = each
    problems = dict.fromkeys(text for health in healths for text in health.problems)
    return msgspec.structs.replace(
        worse,
        problems=list(problems),
        connectors=[connectors[key] for key in sorted(connectors)],
    )


_Problem = tuple[Level, str]


def _urgency(problem: _Problem) -> int:
    return -tuple(Level).index(problem[0])


def _of_missing(
    missing: Missing | None, thresholds: Thresholds, unmeasured: str | None
) -> list[_Problem]:
    if missing is None:
        return [] if unmeasured is None else [(Level.AMBER, unmeasured)]
    level = thresholds.level(missing.age_s)
    if level is Level.GREEN:
        return []
    noun = "event" if missing.events == 1 else "events"
    return [(level, f"{missing.events} {noun} missing for {missing.age_s:.0f} s")]


def _of_connectors(
    connectors: Sequence[ConnectorHealth], thresholds: Thresholds, unheard_s: float
) -> list[_Problem]:
    least_s = min((each.quiet_s for each in connectors), default=unheard_s)
    best = thresholds.level(least_s)
    if not connectors and best is not Level.GREEN:
        return [(best, "no connector is heard: start one (metatide connect)")]
    # While one of them publishes, nothing is lost.
    level = Level.RED if best is Level.RED else Level.AMBER
    return [
        (level, _words(each, thresholds)) for each in connectors if each.level is not Level.GREEN
    ]


def _words(connector: ConnectorHealth, thresholds: Thresholds) -> str:
    who = f"{connector.name} on {connector.host}"
    if thresholds.level(connector.silent_s) is not Level.GREEN:
        return f"{who} silent for {connector.silent_s:.0f} s"
    why = f": {connector.fault}" if connector.fault else ""
    return f"{who} hasn't read the log for {connector.quiet_s:.0f} s{why}"


def _connector(heard: Heard, thresholds: Thresholds) -> ConnectorHealth:
    heartbeat = heard.heartbeat
    return ConnectorHealth(
        name=heartbeat.name,
        host=heartbeat.host,
        address=heartbeat.address,
        level=thresholds.level(heard.quiet_s),
        silent_s=round(heard.silent_s, 3),
        quiet_s=round(heard.quiet_s, 3),
        epoch=heartbeat.epoch,
        position=heartbeat.position,
        sequence=heartbeat.sequence,
        loads_waiting=heartbeat.loads_waiting,
        loads_running=heartbeat.loads_running,
        partitions_loaded=heartbeat.partitions_loaded,
        leads=heartbeat.leads,
        partitions=heartbeat.partitions,
        fault=heartbeat.fault,
    )
