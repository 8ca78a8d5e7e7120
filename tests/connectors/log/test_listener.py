"""What open transactions prove about the listener, however polls, pauses and commits fall."""

from dataclasses import dataclass, field

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.log.listener import ListenerWatch
from connectors.log.source import OpenTxns
from hive.events import event_types

BEGIN, END, LOG, READ, LOOK, LOSE = "begin", "end", "log", "read", "look", "lose"
STEPS = st.lists(
    st.tuples(st.sampled_from((BEGIN, END, LOG, READ, LOOK, LOSE)), st.integers(0, 5)),
    max_size=40,
)
FROZEN = ((LOOK, 0), (BEGIN, 0), (LOOK, 0), (END, 0), (READ, 5))
"""A connector that is frozen after a look, and then reads past it in one poll."""


@dataclass
class World:
    """A metastore, and a connector that reads its log in polls and looks at its transactions."""

    transactional: bool
    log: list[event_types.Event] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    unwritten: list[int] = field(default_factory=list)
    """Transactions that are open while their event isn't there yet."""
    position: int = 0
    watch: ListenerWatch = field(default_factory=ListenerWatch)
    said: set[int] = field(default_factory=set)
    expected: set[int] = field(default_factory=set)
    """The transactions that were seen open without an event, new since the look before."""
    before: set[int] | None = None
    awaited: int | None = None
    """The event up to which the log must be read before the last look can be judged."""
    txns: int = 0

    def step(self, kind: str, number: int) -> None:
        match kind:
            case "begin":
                self.txns += 1
                self.open.add(self.txns)
                self.unwritten.append(self.txns)
                if self.transactional:
                    self._write_opens()
            case "end" if self.open:
                txn = sorted(self.open)[number % len(self.open)]
                self.open.discard(txn)
                self.log.append(
                    event_types.CommitTransaction(
                        event_id=len(self.log) + 1,
                        event_time=0,
                        event_type="COMMIT_TXN",
                        txn=txn,
                        write_ids=None,
                    )
                )
            case "log":
                self._write_opens()
            case "read":
                self._read(number + 1)
            case "look" if self.awaited is None:
                self._look()
            case "lose" if self.position < len(self.log):
                self.position = min(len(self.log), self.position + number + 1)
                self.watch.miss()
                self.before = None
        self._judge()

    def _write_opens(self) -> None:
        for txn in self.unwritten:
            self.log.append(
                event_types.OpenTransactions(
                    event_id=len(self.log) + 1,
                    event_time=0,
                    event_type="OPEN_TXN",
                    ranges=((txn, txn),),
                )
            )
        self.unwritten.clear()

    def _read(self, count: int) -> None:
        for event in self.log[self.position : self.position + count]:
            self.watch.see(event)
            self.position = event.event_id

    def _look(self) -> None:
        self.awaited = len(self.log)
        self.watch.look(OpenTxns(self.awaited, tuple(sorted(self.open)), frozenset(self.open)))
        if self.before is not None:
            self.expected |= (self.open - self.before) & set(self.unwritten)
        self.before = set(self.open)

    def _judge(self) -> None:
        if self.awaited is not None and self.position >= self.awaited:
            self.said.update(self.watch.unlogged())
            self.awaited = None


@given(STEPS)
@example(list(FROZEN))
def test_nothing_is_said_of_a_transactional_listener(steps: list[tuple[str, int]]) -> None:
    world = World(transactional=True)
    for step in steps:
        world.step(*step)
    assert not world.said


@given(STEPS)
@example([(LOOK, 0), (BEGIN, 0), (LOOK, 0), (LOG, 0), (READ, 5)])
def test_a_transaction_that_was_open_before_its_event_is_said(
    steps: list[tuple[str, int]],
) -> None:
    world = World(transactional=False)
    # Without lost events all that was seen is said, once everything is read.
    for step in steps:
        if step[0] != LOSE:
            world.step(*step)
    world.step(READ, len(world.log))
    assert world.said == world.expected
