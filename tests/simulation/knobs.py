"""How often processes look whether something has changed, which differs from run to run.

Nothing may depend on that: a process that waits for a processor looks as rarely.
"""

from collections.abc import Mapping
from random import Random
from types import ModuleType
from typing import Final

import metatide.worker.epoch_watch
import processors.worker.arrival_watch
import processors.worker.worker
import query_api.http.server
import query_api.thrift.server
import state.topic.same_topic
from connectors.settings import Pace

_INTERVALS_S: Final[dict[str, tuple[ModuleType, str, float]]] = {
    "limits": (processors.worker.worker, "CHECK_EVERY_S", 5.0),
    "arrival": (processors.worker.arrival_watch, "WATCH_S", 5.0),
    "epoch": (metatide.worker.epoch_watch, "EVERY_S", 4.0),
    "http": (query_api.http.server, "SWEEP_S", 5.0),
    "thrift": (query_api.thrift.server, "CHECK_EVERY_S", 10.0),
    "topic": (state.topic.same_topic, "SAME_TOPIC_S", 15.0),
}
"""Where production says how often, and how rarely it may be instead."""
_POLL: Final = "poll"
_POLL_MS: Final = 200.0
_RARE_SHARE: Final = 0.6


def turned(random: Random) -> dict[str, float]:
    """The knobs that are turned in a run, and to what. The others are as in production."""
    rare = {_POLL: _POLL_MS, **{name: rare_s for name, (_, _, rare_s) in _INTERVALS_S.items()}}
    return {name: value for name, value in rare.items() if random.random() < _RARE_SHARE}


def replacements(knobs: Mapping[str, float]) -> list[tuple[ModuleType, str, float]]:
    return [
        (module, constant, knobs[name])
        for name, (module, constant, _) in _INTERVALS_S.items()
        if name in knobs
    ]


def poll_interval_ms(knobs: Mapping[str, float]) -> int:
    """How long a connector rests that finds nothing."""
    return int(knobs.get(_POLL, Pace().poll_interval_ms))
