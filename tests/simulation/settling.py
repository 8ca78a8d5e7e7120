"""What must become of a deployment that is left in peace: warm again, equal everywhere, silent."""

from functools import partial
from typing import Any, Final

from hive.errors import UnansweredError
from processors.applier import Applier
from processors.worker.load_requests import STALLED_S
from query_api.consistency import Consistency
from query_api.reads.partitions import ListPartitions
from query_api.reads.read import Read
from query_api.reads.tables import GetTable, ListTables
from query_api.reasons import Source
from query_api.requirement import Requirement
from state import digest
from state.records.signals import NewEpochOrder
from state.store import MemoryStore
from tests.simulation.clients import owner_of
from tests.simulation.nodes import TOPIC, WorkerNode
from tests.simulation.questions import Question, plain
from tests.simulation.world import World

WARM_S_MAX: Final = 2 * STALLED_S + 240.0
"""So long may it take until everything is answered from the cache, which waits for loads that never
end, for the end of sessions, for back-offs and for the rests of loads."""
_ROUND_S: Final = 10.0
_REWOUND_S: Final = 60.0
_RECENT_LINES: Final = 5
SILENT_S_MAX: Final = 4 * STALLED_S
_WINDOW_S: Final = 40.0
_LATEST: Final = Requirement(Consistency.LATEST, max_wait_ms=1000)


class UnsettledError(AssertionError):
    """The deployment doesn't come to rest as it should."""


def settle(world: World) -> None:
    """Ends all faults, and waits until the cache answers everything."""
    end_faults(world)
    deadline_s = world.scheduler.now + WARM_S_MAX
    world.run(world.scheduler.now + _ROUND_S)
    if world.owes_epoch:
        _begin_epoch(world)
    finish_transactions(world)
    missing = _ask_for_all(world)
    while missing:
        if not world.counts["resets"] and ("rewound" in str(missing) or _loads_are_in_vain(world)):
            _begin_epoch(world)
        if world.scheduler.now > deadline_s:
            raise UnsettledError(
                f"{WARM_S_MAX:.0f} s after the last fault these aren't answered from the cache: "
                + "; ".join(missing)
            )
        world.run(world.scheduler.now + _ROUND_S)
        missing = _ask_for_all(world)
    world.counts["settled"] += 1
    world.counts["settled_s"] += round(world.scheduler.now - world.plan.seconds)
    check_silence(world)
    check_digests(world)


def end_faults(world: World) -> None:
    world.faults_over = True
    world.brokers.on_arrival = None
    now = world.scheduler.now
    world.scheduler.note("all faults are over")
    world.brokers.down_until = world.brokers.slow_until = world.database.down_until = now
    for log in world.brokers.topics.values():
        for partition in log.partitions:
            partition.stuck_until = now
    world.network.cut_until.clear()
    for node in world.nodes:
        if not node.alive:
            node.start()
        node.process.drift(1.0)
        node.process.wall_ahead_s = 0.0
        node.process.thaw()
    for worker in world.workers:
        worker.disk.free_bytes = 1 << 40


def finish_transactions(world: World) -> None:
    """Commits what is open, and writes something, so that a restored database has a new event."""
    process, metastore = world.metastores[0].process, world.metastores[0].metastore

    def work() -> None:
        metastore.write("begin", (0,))
        while world.database.now.open:
            metastore.write("end", (0, 0))

    process.spawn(work, "finish")
    world.run(world.scheduler.now + _ROUND_S)


def _loads_are_in_vain(world: World) -> bool:
    """Whether the alert MetatideLoadsInVain fires for a shard with events of a lost history, which
    the topic has no trace of."""
    recent = world.scheduler.story[-_RECENT_LINES:]
    return world.has_lost_records and any(
        "before the event that they were asked" in line for line in recent
    )


def _begin_epoch(world: World) -> None:
    """What the alerts MetatideRewound and MetatideLoadsInVain ask of operators.

    No connector finds another history if a worker has read an event that was lost before it was
    published, or if the cleaner or somebody who trimmed the topic removed what would have shown it.
    """
    if not (world.counts["lost_unpublished"] or world.counts["cleaned"] or world.has_lost_records):
        raise UnsettledError("no connector noticed that the database lost published events")
    world.counts["resets"] += 1
    world.run(world.scheduler.now + _REWOUND_S)
    shards = [
        shard for node in world.workers if node.worker for shard in node.worker.shards.values()
    ]
    order = NewEpochOrder(max(shard.position.epoch for shard in shards))
    node = next(node for node in world.workers if node.worker is not None and node.worker.shards)
    assert node.worker is not None
    world.scheduler.note(f"an operator orders an epoch after {order.epoch}")
    node.submit(partial(node.worker.order, order))


def _reads(world: World) -> list[Read[Any]]:
    content = world.database.now.content
    reads: list[Read[Any]] = [ListTables(db) for db in content.databases]
    for name, table in content.tables.items():
        reads.append(GetTable(name))
        if table.row.partitioned:
            reads.append(ListPartitions(name))
    return reads


def _ask_for_all(world: World) -> list[str]:
    """What the cache doesn't answer, each asked of the worker that holds its shard."""
    answers: list[str] = []
    for read in _reads(world):
        node = owner_of(world.workers, read)
        if node is None:
            answers.append(f"{read}: nobody has its shard")
            continue
        assert node.backend is not None
        node.submit(partial(_ask, world, node, read, answers))
    world.run(world.scheduler.now + 5.0)
    return answers


async def _ask(world: World, node: WorkerNode, read: Read[Any], misses: list[str]) -> None:
    assert node.backend is not None
    question = Question(read, _LATEST, world.database.now)
    misses.append(f"{read}: no answer")
    try:
        answer = await node.backend.resolver.answer(read, question.requirement)
    except UnansweredError:
        return
    misses.remove(f"{read}: no answer")
    if answer.source is not Source.CACHE:
        misses.append(f"{read}: {answer.reason} {answer.detail} at {answer.position}")
    elif plain(answer.value) != question.truth(world.database.now):
        raise UnsettledError(f"{read} is answered wrongly at rest: {plain(answer.value)!r}")


def check_silence(world: World) -> None:
    """Nothing asks without end: once everything is warm, requests for loads die away. Those for
    loads that never end take their time."""
    deadline_s = world.scheduler.now + SILENT_S_MAX
    is_silent = False
    while not is_silent:
        if world.scheduler.now > deadline_s:
            raise UnsettledError("everything is warm, and loads are still asked for")
        before = _signals(world)
        world.run(world.scheduler.now + _WINDOW_S)
        waiting = any(
            node.worker is not None and node.worker.load_requests_waiting for node in world.workers
        )
        is_silent = not waiting and _signals(world) == before


def _signals(world: World) -> int:
    log = world.brokers.topics.get(f"{TOPIC}.signals")
    return 0 if log is None else sum(partition.end for partition in log.partitions)


def check_digests(world: World) -> None:
    """Each shard holds what a fresh replay of its partition makes, to the byte, and what readers
    see of it is the same."""
    for node in world.workers:
        assert node.worker is not None
        for number, shard in node.worker.shards.items():
            snapshot = shard.snapshot()
            if snapshot is None:
                raise UnsettledError(f"shard {number} of {node.name} can't be read")
            replayed = MemoryStore()
            applier = Applier(replayed)
            partition = world.brokers.topics[TOPIC].partitions[number]
            applier.skip_to(partition.first)
            for offset, record in enumerate(partition.records, partition.first):
                applier.add(offset, record.value)
            applier.commit()
            fresh = replayed.snapshot()
            contents = digest.content(snapshot), digest.content(fresh)
            differing = [
                name
                for name, own in contents[0].items()
                if None not in (own, contents[1].get(name)) and own != contents[1].get(name)
            ]
            if differing:
                raise UnsettledError(f"a fresh replay of shard {number} differs in {differing}")
            is_whole = partition.first == 0 and not world.has_lost_acknowledged
            if is_whole and digest.exact(snapshot) != digest.exact(fresh):
                raise UnsettledError(f"a fresh replay of shard {number} has other bytes")
            world.counts["digests"] += 1
