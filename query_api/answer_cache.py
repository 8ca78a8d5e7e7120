"""Answers that are cached for as long as nothing that they depend on changes.

As long as no commit of the shard touches what was read, the same question has the same answer, byte
for byte. So it suffices to check the commits. For `latest`, the database is also asked each time
whether a newer event touched what was read; for `within`, a read that is recent enough tells.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Final, Generic, TypeVar

import msgspec

from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.owner_moment import AnyMoment, OwnerMoment
from query_api.positions import Position
from query_api.requirement import ANY_AGE_MS
from query_api.shards import Views
from query_api.targets import Target

UNCACHED_MAX: Final = 32_768


class CachedAnswer(msgspec.Struct, eq=False):
    """One answer, and what it depends on."""

    moment: AnyMoment
    to_confirm: tuple[Target, ...]
    """The targets that the database is asked about each time; only answers for `latest` and
    `within` have any."""
    max_age_ms: int
    """How long ago it may have been asked; 0 for `latest`."""
    body: bytes
    size: int
    """Its size in bytes, including the key."""

    @property
    def reached(self) -> Position:
        return self.moment.reached

    @property
    def may_wait(self) -> bool:
        """Whether a caller may wait for a read of the log. Where the read may be old and none is
        there, the database is slow or away, and the owner answers sooner.
        """
        return self.max_age_ms < ANY_AGE_MS or not isinstance(self.moment, OwnerMoment)

    def confirm(self, log_end: LogEnd) -> bool:
        """Whether no newer event of the database touched what was read. If another worker gave the
        answer, the next log need only tell what came after this one.
        """
        if isinstance(self.moment, OwnerMoment):
            confirmed = self.moment.confirmed(log_end)
            if confirmed is None:
                return False
            self.moment = confirmed
            return True
        if not log_end.leaves(self.to_confirm, self.reached):
            return False
        if log_end.denies(self.reached, self.moment.mark):
            # Another caller has renewed the moment since the log was read.
            return False
        return self.max_age_ms > 0 or log_end.current >= self.reached.event

    def confirmed_by(self, recent: RecentReads, began_after_s: float = 0.0) -> LogEnd | None:
        """A read that is recent enough and shows no newer event that touched what was read. If
        another worker gave the answer, the read must have begun after this time."""
        if not self.max_age_ms:
            return None
        is_owners = isinstance(self.moment, OwnerMoment)
        logs = recent.within(self.max_age_ms, began_after_s if is_owners else 0.0)
        return next(filter(self.confirm, logs), None)


K = TypeVar("K", bound=Hashable)
A = TypeVar("A", bound=CachedAnswer)


class AnswerCache(Generic[K, A]):
    """Caches answers up to a total size; the least recently used are dropped first."""

    def __init__(
        self,
        views: Views,
        is_rewound: Callable[[int], bool],
        *,
        bytes_max: int,
        body_bytes_max: int,
    ) -> None:
        """`is_rewound` tells whether answers of an epoch may no longer be served."""
        self._views = views
        self._is_rewound = is_rewound
        self._bytes_max = bytes_max
        self._body_bytes_max = body_bytes_max
        self._answers: OrderedDict[K, A] = OrderedDict()
        self._bytes = 0
        self.cleared_s = float("-inf")
        """When all answers were last dropped, by `perf_counter`. What was asked before may still be
        answered as it was then."""
        self._uncached: set[int] = set()
        """The hashes of questions whose answers were not cached."""

    def get(self, key: K) -> A | None:
        """The cached answer, unless a commit may have changed it; doesn't ask the database."""
        answer = self._answers.get(key)
        if answer is None:
            return None
        moment = self._renewed(answer.moment)
        if moment is None or self._is_rewound(moment.reached.epoch):
            self._drop(key)
            return None
        answer.moment = moment
        self._answers.move_to_end(key)
        return answer

    def log_from(self, answer: A) -> Position:
        """The position from which on the log tells whether an answer is the latest. What another
        worker says that it reached proves nothing about the history of the database.
        """
        is_owners = isinstance(answer.moment, OwnerMoment)
        return min(answer.reached, self._views.reached) if is_owners else answer.reached

    def admits(self, key: K) -> bool:
        """Whether an answer to this question should be cached. Once half of the room is taken, a
        question must come twice, so that many different ones don't displace the frequent ones.
        """
        if 2 * self._bytes < self._bytes_max:
            return True
        question = hash(key)
        if question in self._uncached:
            self._uncached.discard(question)
            return True
        if len(self._uncached) >= UNCACHED_MAX:
            self._uncached.clear()
        self._uncached.add(question)
        return False

    def put(self, key: K, answer: A) -> None:
        """Caches an answer, unless it is too long."""
        if len(answer.body) > self._body_bytes_max:
            return
        self._drop(key)
        self._answers[key] = answer
        self._grow(answer.size)

    def clear(self) -> None:
        """Drops all answers."""
        self.cleared_s = perf_counter()
        for key in list(self._answers):
            self._drop(key)

    def _renewed(self, moment: AnyMoment) -> AnyMoment | None:
        if isinstance(moment, OwnerMoment):
            return moment if moment.lasts(self._views) else None
        return self._views.renewed(moment)

    def _grow(self, size: int) -> None:
        self._bytes += size
        while self._bytes > self._bytes_max:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: K) -> A | None:
        answer = self._answers.pop(key, None)
        if answer is not None:
            self._bytes -= answer.size
        return answer
