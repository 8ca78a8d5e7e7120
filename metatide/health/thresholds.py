"""From which age on something is late, and from which it is an alarm."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from hive.errors import InputError
from metatide.config import Config


class Level(StrEnum):
    """How urgent something is: `green` is well, `amber` is late, and at `red` somebody must look at
    it now."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"


_ORDER = tuple(Level)


def worst(levels: Iterable[Level]) -> Level:
    """The most urgent of these; green if there are none."""
    return max(levels, key=_ORDER.index, default=Level.GREEN)


class Thresholds(msgspec.Struct, frozen=True):
    """The ages in seconds beyond which the cache is late, and beyond which that is an alarm."""

    amber_s: int = 10
    red_s: int = 30

    def level(self, age_s: float) -> Level:
        if age_s > self.red_s:
            return Level.RED
        return Level.AMBER if age_s > self.amber_s else Level.GREEN


def thresholds(config: Config) -> Thresholds:
    """The configured thresholds."""
    amber_s, red_s = config.health.amber_s, config.health.red_s
    if red_s < amber_s:
        raise InputError(f"health.red_s is {red_s}, less than health.amber_s, {amber_s}")
    return Thresholds(amber_s, red_s)
