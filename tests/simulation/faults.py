"""What goes wrong in a simulation. Each fault is over after a while."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from connectors.loads.kafka_sink import BEGIN
from connectors.publish import headers
from hive.errors import TopicError
from hive.schema import Version
from state.records.signals import ResetTableOrder
from tests.simulation import spark
from tests.simulation.broker import Headers
from tests.simulation.metastore import FORMATS
from tests.simulation.nodes import TOPIC, ConnectorNode, Node, WorkerNode
from tests.simulation.scheduler import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

Numbers = tuple[int, ...]
FAILOVER_S: Final = 1.0
"""No failover is faster, so that an event never has the time of a lost one with its id."""
_TIMES_S: Final = (0.05, 0.5, 2.0, 8.0, 15.0, 40.0)


def _time_s(number: int) -> float:
    return _TIMES_S[number % len(_TIMES_S)]


def _connector(world: "World", numbers: Numbers) -> ConnectorNode:
    return world.connectors[numbers[0] % len(world.connectors)]


def _worker(world: "World", numbers: Numbers) -> WorkerNode:
    return world.workers[numbers[0] % len(world.workers)]


def _kill(world: "World", node: Node, down_s: float) -> None:
    if node.alive:
        world.scheduler.note(f"{node.name} is killed, for {down_s} s")
        node.kill()
        world.restart_later(node, down_s)


def kill_connector(world: "World", numbers: Numbers) -> None:
    _kill(world, _connector(world, numbers), _time_s(numbers[1]))


def kill_connectors(world: "World", numbers: Numbers) -> None:
    """All of them at once, perhaps while a partition has no leader."""
    if numbers[3] % 2:
        leader_away(world, numbers)
    down_s = _time_s(numbers[1])

    def kill() -> None:
        for node in world.connectors:
            _kill(world, node, down_s)

    world.scheduler.after((0.0, 1.0, 3.0)[numbers[4] % 3], kill)


def kill_loading(world: "World", numbers: Numbers) -> None:
    """The connector that begins the next load ends before it has ended that."""
    down_s = _time_s(numbers[1])

    def hear(topic: str, process: Process, headers: Headers) -> None:
        # What a process has sent may arrive after its end.
        if process.alive and topic == TOPIC and ("event", BEGIN.encode()) in headers:
            world.brokers.on_arrival = None
            node = next(node for node in world.connectors if node.process is process)
            world.scheduler.after(0.0, partial(_kill, world, node, down_s))

    world.brokers.on_arrival = hear


def kill_worker(world: "World", numbers: Numbers) -> None:
    _kill(world, _worker(world, numbers), _time_s(numbers[1]))


def kill_metastore(world: "World", numbers: Numbers) -> None:
    """It may be in the middle of a transaction."""
    node = world.metastores[numbers[0] % len(world.metastores)]
    _kill(world, node, _time_s(numbers[1]))


def cut_off(world: "World", numbers: Numbers) -> None:
    """Nothing gets through to a worker or a metastore, nor from there."""
    nodes = [*world.workers, *world.metastores]
    node, seconds = nodes[numbers[0] % len(nodes)], _time_s(numbers[1])
    world.scheduler.note(f"{node.name} is cut off for {seconds} s")
    world.network.cut_until[node.name] = world.scheduler.now + seconds


def freeze_connector(world: "World", numbers: Numbers) -> None:
    node, seconds = _connector(world, numbers), _time_s(numbers[1])
    if node.alive:
        world.scheduler.note(f"{node.name} is frozen for {seconds} s")
        node.process.freeze(seconds)


def freeze_worker(world: "World", numbers: Numbers) -> None:
    node, seconds = _worker(world, numbers), _time_s(numbers[1])
    if node.alive:
        world.scheduler.note(f"{node.name} is frozen for {seconds} s")
        node.process.freeze(seconds)


def lose_store(world: "World", numbers: Numbers) -> None:
    node = _worker(world, numbers)
    if node.alive:
        _kill(world, node, _time_s(numbers[1]))
        world.scheduler.note(f"{node.name} loses a store")
        node.disk.lose(world.random)


def tear_store(world: "World", numbers: Numbers) -> None:
    node = _worker(world, numbers)
    world.scheduler.note(f"a store of {node.name} is torn")
    node.disk.tear(world.random)


def fill_disk(world: "World", numbers: Numbers) -> None:
    node, seconds = _worker(world, numbers), _time_s(numbers[1])
    world.scheduler.note(f"the disk of {node.name} is full for {seconds} s")
    node.disk.free_bytes = 0
    world.scheduler.after(seconds, lambda: setattr(node.disk, "free_bytes", 1 << 40))


def brokers_down(world: "World", numbers: Numbers) -> None:
    seconds = _time_s(numbers[1])
    world.scheduler.note(f"the brokers are down for {seconds} s")
    world.brokers.down_until = world.scheduler.now + seconds


def brokers_slow(world: "World", numbers: Numbers) -> None:
    seconds = _time_s(numbers[1])
    world.scheduler.note(f"the brokers are slow for {seconds} s")
    world.brokers.slow_until = world.scheduler.now + seconds


def leader_away(world: "World", numbers: Numbers) -> None:
    seconds = _time_s(numbers[1])
    log = world.brokers.topics.get(TOPIC)
    if log is not None:
        number = numbers[2] % len(log.partitions)
        world.scheduler.note(f"partition {number} has no leader for {seconds} s")
        log.partitions[number].stuck_until = world.scheduler.now + seconds


def retention(world: "World", numbers: Numbers) -> None:
    """Somebody trims the topic, too much of it."""
    log = world.brokers.topics.get(TOPIC)
    if log is not None:
        number = numbers[2] % len(log.partitions)
        partition = log.partitions[number]
        count = (0, 1, 5, 30)[numbers[3] % 4]
        world.scheduler.note(f"partition {number} keeps its last {count} records")
        partition.forget(partition.end - count)
        world.has_lost_records = True


def recreate_topic(world: "World", numbers: Numbers) -> None:
    """Somebody deletes the topic, and creates it again."""
    if TOPIC in world.brokers.topics:
        world.scheduler.note("the topic is deleted, and created again")
        world.brokers.create_anew(TOPIC)
        world.has_lost_records = True


def unclean_leader(world: "World", numbers: Numbers) -> None:
    """A replica leads that lacks acknowledged records."""
    log = world.brokers.topics.get((TOPIC, f"{TOPIC}.signals")[numbers[4] % 4 == 0])
    if log is not None:
        number = numbers[2] % len(log.partitions)
        count = (1, 2, 5, 30)[numbers[3] % 4]
        world.scheduler.note(f"partition {number} of {log.name} loses its last {count} records")
        log.partitions[number].lose(count)
        world.has_lost_records = world.has_lost_acknowledged = True


def database_down(world: "World", numbers: Numbers) -> None:
    seconds = _time_s(numbers[1])
    world.scheduler.note(f"the database is down for {seconds} s")
    world.database.down_until = world.scheduler.now + seconds


def upgrade(world: "World", numbers: Numbers) -> None:
    """The schema is upgraded while metastores and database are down; afterwards a metastore of
    another release writes its messages in another form, perhaps one of several."""
    database_down(world, numbers)
    world.database.version = Version.V4_1
    for node in world.metastores:
        _kill(world, node, _time_s(numbers[1]))
    node = world.metastores[numbers[0] % len(world.metastores)]
    node.metastore.message_format = FORMATS[numbers[2] % len(FORMATS)]
    world.scheduler.note("the schema is upgraded")


def clean_log(world: "World", numbers: Numbers) -> None:
    kept = (0, 1, 5, 20)[numbers[1] % 4]
    world.scheduler.note(f"the cleaner keeps {kept} events")
    world.counts["cleaned"] += 1
    world.database.clean(kept)


def restore(world: "World", numbers: Numbers) -> None:
    database, now = world.database, world.scheduler.now
    database.restore((0, 1, 2, 5, 10)[numbers[1] % 5])
    database.down_until = max(database.down_until, now + FAILOVER_S)
    world.ask_around(None, within_s=FAILOVER_S + 0.3)
    if _published(world) <= world.database.now.event:
        # Workers may have read in the log what was lost; no connector can know of it.
        world.counts["lost_unpublished"] += 1
        world.owes_epoch |= world.has_lost_records


def _published(world: "World") -> int:
    """The last event that the topic has of the latest epoch."""
    log = world.brokers.topics.get(TOPIC)
    heads = [
        headers.read(record.headers)
        for partition in (log.partitions if log else ())
        for record in partition.records
    ]
    events = ((head.epoch, head.upto) for head in heads if head is not None and head.moves)
    epoch = max((head.epoch for head in heads if head is not None), default=0)
    return max((upto for of, upto in events if of == epoch), default=0)


def drift(world: "World", numbers: Numbers) -> None:
    nodes = [*world.connectors, *world.workers]
    rate = (0.9, 0.99, 1.0, 1.01, 1.1)[numbers[1] % 5]
    node = nodes[numbers[0] % len(nodes)]
    if node.alive:
        node.process.drift(rate)


def jump(world: "World", numbers: Numbers) -> None:
    nodes = [*world.connectors, *world.workers]
    node = nodes[numbers[0] % len(nodes)]
    node.process.wall_ahead_s = (-3600.0, -1.0, 0.0, 5.0, 86400.0)[numbers[1] % 5]


def forget_table(world: "World", numbers: Numbers) -> None:
    """An operator has a table loaded anew."""
    node = _worker(world, numbers)
    tables = list(world.database.now.content.tables)
    if not node.alive or node.worker is None or node.worker.topic is None or not tables:
        return
    table = tables[numbers[0] % len(tables)]
    world.scheduler.note(f"an operator has {table} loaded anew")
    node.submit(partial(_order, node, ResetTableOrder(0, table, load=True)))


def rebuild(world: "World", numbers: Numbers) -> None:
    """An operator has all images made anew from the topic, and may end that."""
    if not world.plan.images:
        return
    world.scheduler.note("an operator rebuilds the images")
    process = spark.rebuild(world.scheduler, TOPIC)
    if numbers[1] % 3 == 0:
        world.scheduler.after(_time_s(numbers[2]), process.kill)
    world.applications.append(process)


async def _order(node: WorkerNode, order: ResetTableOrder) -> None:
    if node.worker is not None:
        with suppress(TopicError):
            await node.worker.order(order)


FAULTS: Final[Mapping[str, Callable[["World", Numbers], None]]] = {
    fault.__name__: fault
    for fault in (
        kill_connector,
        kill_connectors,
        kill_loading,
        kill_worker,
        kill_metastore,
        cut_off,
        freeze_connector,
        freeze_worker,
        lose_store,
        tear_store,
        fill_disk,
        brokers_down,
        brokers_slow,
        leader_away,
        retention,
        recreate_topic,
        unclean_leader,
        database_down,
        upgrade,
        clean_log,
        restore,
        drift,
        jump,
        forget_table,
        rebuild,
    )
}
