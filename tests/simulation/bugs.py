"""Bugs to put back into production code, each as the change of a few words of its source."""

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple


class Bug(NamedTuple):
    """A class of faults that this repository had, or that its design rules out."""

    name: str
    seed: int | str
    """One that finds it, see bug_seeds.py; of a rare fault, the kept case."""
    module: str
    text: str
    instead: str

    def __str__(self) -> str:
        return self.name


BUGS: Final = (
    Bug(
        "a read of the log that began before a request answers it",
        1,
        "query_api.latest.shared_read",
        "                batch, self._waiting = self._waiting, []\n"
        "                log = await self._read_for([reached for reached, _ in batch])\n",
        "                log = await self._read_for([reached for reached, _ in self._waiting])\n"
        "                batch, self._waiting = self._waiting, []\n",
    ),
    Bug(
        "nothing notices that the database has gone back",
        75,
        "query_api.latest.log_history",
        "        if current < applied:",
        "        if current < 0:",
    ),
    Bug(
        "the image of an overlapping writer is believed",
        13,
        "processors.fold.entries",
        "    return entry.data == data or before == fingerprint(data)",
        "    return True",
    ),
    Bug(
        "a change under a table's former name is taken at its word",
        11,
        "connectors.publish.renames",
        "        if _name_before(event) in self._by_old:",
        "        if False:",
    ),
    Bug(
        "a change under a partition's former values is taken at its word",
        71,
        "processors.fold.renamed_partitions",
        "    renamed = current_values(change, values)\n    for possible",
        "    renamed: list[tuple[str, ...]] = []\n    for possible",
    ),
    Bug(
        "a connector resumes from the furthest shard",
        4,
        "connectors.publish.tails",
        "        return min((upto for upto in self.upto if upto is not None), default=0)",
        "        return max((upto for upto in self.upto if upto is not None), default=0)",
    ),
    Bug(
        "a gap between records goes unnoticed",
        5,
        "processors.fold.shard",
        "            doubts.break_chain(work, record.after)",
        "            pass",
    ),
    Bug(
        "a load ends before the events that it has seen are published",
        "a-load-whose-events-were-replaced",
        "connectors.loads.end_gate",
        "        if event <= self._published and self._watermark.mark(self._epoch, event) is None:",
        "        if True:",
    ),
    Bug(
        "what a shard applies while the log is read counts as news",
        "events-that-were-lost-while-a-worker-was-frozen",
        "query_api.resolver.resolver",
        "        if furthest <= Position(log_end.epoch, log_end.current):",
        "        if True:",
    ),
    Bug(
        "at_least is answered by a database that has not reached it",
        24,
        "query_api.resolver.resolver",
        "    if min_position is not None and position < min_position:",
        "    if False:",
    ),
    Bug(
        "writes that may still be aborted are served",
        1,
        "query_api.resolver.decision",
        "    if facts.pending:",
        "    if False:",
    ),
    Bug(
        "a request for a load is sent once",
        1,
        "processors.worker.load_requests",
        "        self.looked_s, self.due_s = now, now + again_s",
        "        self.looked_s, self.due_s = now, now + 1e9",
    ),
    Bug(
        "a load that was killed is waited for without end",
        34,
        "processors.worker.load_requests",
        "        stalled = opened is not None and self.has_stalled(opened, now)",
        "        stalled = False",
    ),
    Bug(
        "a load that was made long ago answers a request",
        13,
        "connectors.loads.queue",
        "            answered = loaded >= floor and self._clock() < at_s + ANSWERS_S",
        "            answered = loaded >= floor",
    ),
    Bug(
        "a kept reader outlives its store's commits",
        1,
        "query_api.shards",
        "        if newest is not None and newest.commits is commits and newest.commit == commit:",
        "        if newest is not None and newest.commits is commits:",
    ),
    Bug(
        "an owner's answer that is kept isn't held against the log",
        "an-answer-of-an-owner-that-was-kept",
        "query_api.owner_moment",
        "        if log.mark_of(self.reached) != self.mark or "
        "not log.leaves(self.targets, self.reached):",
        "        if False:",
    ),
    Bug(
        "an answer that is kept is the latest whatever the log says",
        15,
        "query_api.answer_cache",
        "        if not log_end.leaves(self.to_confirm, self.reached):",
        "        if False:",
    ),
    Bug(
        "a client over Thrift doesn't see what it wrote",
        2,
        "query_api.thrift.own_writes",
        "            self.date_again()",
        "            pass",
    ),
    Bug(
        "an owner may have lost events, and not what a client wrote over Thrift",
        "an-own-write-that-an-owner-of-lost-events-lacks",
        "query_api.thrift.own_writes",
        "        if shard not in self._confirmed and await self._has_history_of(answer):",
        "        if True:",
    ),
    Bug(
        "a list of names doesn't tell that a table was moved into the database",
        "a-drop-under-a-name-in-another-database",
        "processors.fold.names",
        "        loads.moved_at = event",
        "        pass",
    ),
    Bug(
        "a missing table gives other reads grounds",
        "a-missing-table-that-was-asked-for-in-two-ways",
        "query_api.resolver.plain_reads",
        "        if objects.table(group.table) is None:",
        "        if False:",
    ),
)


@contextmanager
def put_back(bug: Bug) -> Iterator[None]:
    """Production code has the bug until the block ends."""
    module = importlib.import_module(bug.module)
    source = inspect.getsource(module)
    assert source.count(bug.text) == 1, f"{bug.module} has changed: {bug.text!r}"
    sound = _codes(compile(source, str(module.__file__), "exec"))
    faulty = _codes(compile(source.replace(bug.text, bug.instead), str(module.__file__), "exec"))
    changed = [
        (function, function.__code__, faulty[name])
        for name, function in _functions(module).items()
        if name in faulty and faulty[name] != sound[name]
    ]
    assert changed, f"{bug.name}: nothing differs"
    for function, _, code in changed:
        function.__code__ = code
    try:
        yield
    finally:
        for function, code, _ in changed:
            function.__code__ = code


def _codes(code: CodeType) -> dict[str, CodeType]:
    """The code of each function by its qualified name."""
    codes = {code.co_qualname: code}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            codes |= _codes(constant)
    return codes


def _functions(holder: ModuleType | type) -> dict[str, FunctionType]:
    functions: dict[str, FunctionType] = {}
    module = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    for value in vars(holder).values():
        function: Any = value.fget if isinstance(value, property) else value
        if isinstance(function, FunctionType) and function.__module__ == module:
            functions[function.__qualname__] = function
        elif isinstance(value, type) and value.__module__ == module:
            functions |= _functions(value)
    return functions
