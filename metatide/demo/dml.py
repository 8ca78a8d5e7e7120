"""What clients do in transactions, step by step, so that others run in between."""

from collections.abc import Callable, Iterator

from metatide.demo import notifications, partitions, statistics, tables, transaction_rows
from metatide.demo.actor import Actor
from metatide.demo.objects import Table
from metatide.demo.transactions import Transaction

Script = Iterator[None]
"""The steps of a client; between two of them, other scripts run."""

Statement = Callable[[Actor, Table, int | None], None]
"""What a statement does to a table, with its write id if it has one."""

ABORTED, CONFLICTING, ABANDONED = 0.08, 0.01, 0.02
"""The shares of transactions that are aborted, conflict with another, or are left open."""

ABANDONED_MAX = 8
"""The number of transactions that are left open before the oldest one times out."""

BULK_MAX = 20
"""The maximum number of partitions that an insert adds."""


def managed(table: Table) -> bool:
    """Whether writes to the table take write ids."""
    return table.kind.managed


def write(actor: Actor, statement: Statement) -> Script:
    """A statement in its own transaction: open, allocate, write, end."""
    txn = transaction_rows.begin(actor)
    yield
    with actor.catalog.hold(actor.rng, managed) as table:
        if table is None:
            transaction_rows.commit(actor, txn)
            return
        transaction_rows.allocate(actor, [txn], table)
    yield
    for _ in range(actor.rng.choice((1, 1, 1, 2, 3))):
        yield from _step(actor, txn, table, statement)
    _end(actor, txn)


def _step(actor: Actor, txn: Transaction, table: Table, statement: Statement) -> Script:
    """Performs one write, unless the table was dropped or renamed in the meantime."""
    with actor.catalog.hold_again([table]):
        write_id = table.write_ids.get(txn.id)
        if not table.dropped and write_id is not None:
            statement(actor, table, write_id)
    yield


def _end(actor: Actor, txn: Transaction) -> None:
    chance = actor.rng.random()
    if chance < ABORTED:
        transaction_rows.abort(actor, txn)
    elif chance < ABORTED + CONFLICTING:
        transaction_rows.abort_by_conflict(actor, txn)
    elif chance < ABORTED + CONFLICTING + ABANDONED:
        actor.catalog.abandon(txn)
    else:
        transaction_rows.commit(actor, txn)


def insert(actor: Actor, table: Table, write_id: int | None) -> None:
    """INSERT: adds partitions, or changes the statistics of existing ones."""
    if table.keys and actor.rng.random() < 0.5:
        partitions.add(actor, table, bulk(actor), write_id)
    elif table.keys:
        partitions.set_parameters(actor, table, bulk(actor), write_id)
    else:
        tables.set_parameter(actor, table, write_id)


def analyze(actor: Actor, table: Table, write_id: int | None) -> None:
    """ANALYZE TABLE … FOR COLUMNS."""
    if table.partitions:
        statistics.update_partitions(actor, table, actor.rng.randint(1, 4), write_id)
    else:
        statistics.update_table(actor, table, write_id)


def bulk(actor: Actor) -> int:
    """A number of partitions: mostly 1, sometimes many."""
    return 1 if actor.rng.random() < 0.85 else actor.rng.randint(2, BULK_MAX)


def idle(actor: Actor) -> Script:
    """A transaction that writes nothing, as of a query."""
    txn = transaction_rows.begin(actor)
    yield
    transaction_rows.commit(actor, txn)


def join(actor: Actor) -> Script:
    """A transaction over several tables, as of a MERGE or a multi-insert."""
    txn = transaction_rows.begin(actor)
    yield
    written: list[Table] = []
    for _ in range(actor.rng.randint(2, 3)):
        with actor.catalog.hold(actor.rng, lambda t: managed(t) and t not in written) as table:
            if table is not None:
                transaction_rows.allocate(actor, [txn], table)
                written.append(table)
        yield
    for table in written:
        yield from _step(actor, txn, table, insert)
    _end(actor, txn)


def stream(actor: Actor) -> Script:
    """A streaming client: opens transactions in a batch and allocates their write ids at once."""
    batch = transaction_rows.begin_many(actor, actor.rng.randint(2, 5))
    yield
    with actor.catalog.hold(actor.rng, managed) as table:
        if table is not None:
            transaction_rows.allocate(actor, batch, table)
    for txn in batch:
        yield
        if table is not None:
            yield from _step(actor, txn, table, insert)
        _end(actor, txn)


def compact(actor: Actor) -> Script:
    """A compaction: commits its transaction and reports what it compacted."""
    txn = transaction_rows.begin(actor)
    yield
    with actor.catalog.hold(actor.rng, lambda t: managed(t) and bool(t.partitions)) as table:
        if table is None:
            transaction_rows.commit(actor, txn)
        else:
            partition = table.partition_names.choice(actor.rng)
            event = notifications.commit_compaction(
                table, partition, txn.id, next(actor.catalog.compactions)
            )
            transaction_rows.commit(actor, txn, event)


def reap(actor: Actor) -> Script:
    """Aborts a transaction that its client left open, as the metastore's time-out does."""
    txn = actor.catalog.take_abandoned(ABANDONED_MAX)
    if txn is not None:
        transaction_rows.abort(actor, txn)
    yield
