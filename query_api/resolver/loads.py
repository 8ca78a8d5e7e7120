"""Requests loads of cold objects that somebody reads."""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

from query_api.facts import Facts
from query_api.shards import ShardSource, scope_of
from query_api.targets import Target
from state.loads import Cold
from state.records import Scope, ScopeKind

AGAIN_AFTER_S: Final = 5.0
REMEMBERED: Final = 10_000


class Loads:
    """Requests a load of each scope at most once in a while for each shard. One that is being
    loaded is requested, too: the worker waits for the load, and sees whether it comes to an end."""

    def __init__(self, source: ShardSource, clock: Callable[[], float] = monotonic) -> None:
        self._source = source
        self._clock = clock
        self._requested_s: OrderedDict[tuple[int, Scope], float] = OrderedDict()

    def ask(self, shard: int, target: Target, facts: Facts) -> None:
        """Requests a load of a target that a reader wanted and that is cold in a shard."""
        if facts.detail == Cold.AHEAD:
            return
        scope = scope_of(target)
        if facts.refused is None:
            # The objects are known; only the write ids are not. Outside of the default catalog they
            # stay unknown.
            if not target.name.in_default_catalog:
                return
            scope = Scope(ScopeKind.WRITE_IDS, target.name)
        now = self._clock()
        last = self._requested_s.get((shard, scope))
        if last is not None and now < last + AGAIN_AFTER_S:
            return
        self._requested_s[shard, scope] = now
        self._requested_s.move_to_end((shard, scope))
        if len(self._requested_s) > REMEMBERED:
            self._requested_s.popitem(last=False)
        self._source.ask_for_load(shard, scope, facts.floor)
