"""Where tables, and with them partitions, events and reads, land among many workers.

A resource is spread over the tables by Zipf's law, or equally. Shards of tables are those of the
router, and Faust's own assignor shares the shards out. For each deployment this prints what the
worker with most has, relative to the mean, with all workers and after one has left. `table` is what
the first table alone has: no number of workers divides it. `route_us` is what routing takes a
table, beside a hash in C; `assign_ms` is what the group's leader takes for all shards.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from time import perf_counter
from typing import Final, NamedTuple
from zlib import crc32

from faust.assignor.client_assignment import CopartitionedAssignment
from faust.assignor.copartitioned_assignor import CopartitionedAssignor

from benchmarks.report import print_line
from hive.names import TableName
from state.records.routing import table_shard

TABLES: Final = 200_000
TOPIC: Final = "events"
DEPLOYMENTS: Final = ((4, 16), (16, 64), (64, 256), (64, 1024), (256, 1024))
"""Workers and shards."""
EXPONENTS: Final = (0.8, 1.0)
"""How steep Zipf's law is; of real reads it is about 0.8 to 1."""
Assignment = Mapping[str, CopartitionedAssignment]


class Load(NamedTuple):
    """What tables have of one resource: shares of the whole, by table."""

    name: str
    shares: Sequence[float]


def zipf(name: str, exponent: float, seed: int) -> Load:
    """Shares by Zipf's law, in a random order of the tables."""
    weights = [1 / rank**exponent for rank in range(1, TABLES + 1)]
    total = sum(weights)
    Random(seed).shuffle(weights)
    return Load(name, [weight / total for weight in weights])


def shared_out(shards: int, workers: Sequence[str], before: Assignment) -> Assignment:
    """The shards of each worker, as the leader of the group shares them out."""
    # The assignor changes what it is given.
    had = {worker: set(each.actives) for worker, each in before.items()}
    members = {
        worker: CopartitionedAssignment(had.get(worker, set()), set(), {TOPIC})
        for worker in workers
    }
    return CopartitionedAssignor([TOPIC], members, shards, replicas=0).get_assignment()


def of_shards(load: Load, shard_of: Sequence[int], shards: int) -> list[float]:
    sums = [0.0] * shards
    for shard, share in zip(shard_of, load.shares, strict=True):
        sums[shard] += share
    return sums


def worst(sums: Sequence[float], assignment: Assignment) -> float:
    """What the worker with most has, relative to the mean."""
    of_workers = [sum(sums[shard] for shard in each.actives) for each in assignment.values()]
    return max(of_workers) * len(of_workers)


def crc32_us(tables: Sequence[TableName]) -> float:
    """The time that a hash in C takes for a table's name, as a baseline of routing."""
    began = perf_counter()
    for table in tables:
        crc32(str(table).encode())
    return round(1e6 * (perf_counter() - began) / len(tables), 1)


def deployments(loads: Sequence[Load], tables: Sequence[TableName]) -> Iterator[dict[str, object]]:
    for workers, shards in DEPLOYMENTS:
        began = perf_counter()
        shard_of = [table_shard(table, shards) for table in tables]
        routed = perf_counter()
        names = [f"worker-{number:04d}" for number in range(workers)]
        whole = shared_out(shards, names, {})
        assigned = perf_counter()
        owners = {shard: name for name, each in whole.items() for shard in each.actives}
        rest = shared_out(shards, names[1:], whole)
        moved = sum(owners[shard] != name for name, each in rest.items() for shard in each.actives)
        sums = {load.name: of_shards(load, shard_of, shards) for load in loads}
        yield {
            "name": f"{workers} workers, {shards} shards",
            "worst_of_mean": {name: round(worst(of, whole), 2) for name, of in sums.items()},
            "worst_without_one": {name: round(worst(of, rest), 2) for name, of in sums.items()},
            "shards_moved": moved,
            "table": {load.name: round(max(load.shares) * workers, 2) for load in loads},
            "route_us": round(1e6 * (routed - began) / len(tables), 1),
            "assign_ms": round(1e3 * (assigned - routed), 1),
            "crc32_us": crc32_us(tables),
        }


def main() -> None:
    tables = [TableName("hive", f"db{number % 500}", f"t{number}") for number in range(TABLES)]
    loads = [zipf(f"zipf {exponent}", exponent, seed) for seed, exponent in enumerate(EXPONENTS)]
    loads.append(Load("equal", [1 / TABLES] * TABLES))
    for line in deployments(loads, tables):
        print_line(**line)


if __name__ == "__main__":
    main()
