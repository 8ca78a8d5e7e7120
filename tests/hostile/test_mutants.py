"""Thousands of mutated requests and records: each is answered, and nobody else suffers.

A run can be repeated: HOSTILE_SEED=SEED. A fault is printed with the shortest bytes that show it.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from state.records import names_scope
from state.records.signals import (
    LoadRequest,
    NewEpochOrder,
    PauseOrder,
    ResetTableOrder,
    SetListsOrder,
    encode_signal,
)
from tests.hostile import seeds, topic_records
from tests.hostile.exchange import http_fault, port_fault, thrift_http_fault
from tests.hostile.topic_records import Writer, mutated, mutated_events, recorded
from tests.hostile.world import World, refused_connections, standing
from tests.query_api.sales import ORDERS
from tests.support.mutations import mutants
from tests.support.processes import open_folder

# Hypothesis warns of a long text where it reports a fault; the fault itself must be seen.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]
SEED: Final = "HOSTILE_SEED"
REPETITIONS_MAX: Final = 20_000
"""With it, the largest request has about a megabyte."""
Fault = Callable[[bytes], str | None]


@pytest.fixture(scope="module")
def world(kafka_broker: str, new_database: Callable[[], str]) -> Iterator[World]:
    with open_folder() as folder, standing(folder, kafka_broker, new_database()) as world:
        yield world


def check(
    world: World, requests: st.SearchStrategy[bytes], fault_of: Fault, count: int, number: int
) -> None:
    """Sends so many different requests."""
    number = int(os.environ.get(SEED, number))
    different: set[bytes] = set()
    faults: list[str] = []

    @seed(number)
    @settings(
        # Some are made twice.
        max_examples=count * 3,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(requests)
    def send(data: bytes) -> None:
        if len(different) >= count and not faults:
            return
        different.add(data)
        fault = world.fault(partial(fault_of, data))
        if fault is not None:
            faults.append(fault)
            raise AssertionError(f"{fault}\n{SEED}={number}, {len(data)} bytes: {data.hex()}")

    send()
    assert len(different) == count
    assert world.probes.count > 0


THRIFT: Final = mutants(seeds.thrift_calls(), seeds.IN_THRIFT, REPETITIONS_MAX)
HTTP: Final = mutants(seeds.http_requests(), seeds.IN_HTTP, REPETITIONS_MAX)
THRIFT_OVER_HTTP: Final = THRIFT.map(seeds.thrift_post) | mutants(
    seeds.thrift_posts(), seeds.IN_HTTP, REPETITIONS_MAX
)
PORT: Final = mutants(seeds.port_requests(), seeds.IN_HTTP, REPETITIONS_MAX)


SIGNALS: Final = [
    encode_signal(signal)
    for signal in (
        LoadRequest(0, names_scope(ORDERS.database), 1, ((), ("a",))),
        ResetTableOrder(0, ORDERS, True),
        SetListsOrder(0, 1, ("sales.*",), ("tmp.*",)),
        PauseOrder(0, 0, False),
        NewEpochOrder(0),
    )
]


def over_thrift(world: World, count: int, number: int) -> None:
    check(world, THRIFT, world.thrift.fault, count, number)
    written = world.worker.log.read_text().splitlines()
    lines = [json.loads(line) for line in written if line.startswith("{")]
    ended = {line["reason"] for line in lines if "connection was ended" in line["event"]}
    assert refused_connections(world.worker).keys() <= ended


def over_http(world: World, count: int, number: int) -> None:
    check(world, HTTP, partial(http_fault, world.worker.port), count, number)


def over_thrift_in_http(world: World, count: int, number: int) -> None:
    fault_of = partial(thrift_http_fault, world.thrift_over_http)
    check(world, THRIFT_OVER_HTTP, fault_of, count, number)


def over_the_connectors_port(world: World, count: int, number: int) -> None:
    check(world, PORT, partial(port_fault, world.connector.port), count, number)


def into_the_topic(world: World, count: int, number: int) -> None:
    """First what can be read, because what can't be stops its shard."""
    writer, records = Writer(world.topic), recorded(world.topic)

    def writes(write: Callable[[bytes], None]) -> Fault:
        return lambda data: write(data)

    check(world, topic_records.signals, writes(writer.signal), count, number)
    check(world, mutated(SIGNALS), writes(writer.signal), count, number)
    check(world, topic_records.events, writes(writer.event), count, number)
    world.until_folded()
    check(world, mutated_events(records), writes(writer.event), count, number)
    world.until_folded()
    assert world.fault(lambda: None) is None


@pytest.mark.by_turns(5, of="mutants")
def test_mutated_calls_over_thrift(world: World) -> None:
    over_thrift(world, 2_000, 1)


@pytest.mark.by_turns(5, of="mutants")
def test_mutated_requests_over_http(world: World) -> None:
    over_http(world, 2_000, 2)


@pytest.mark.by_turns(5, of="mutants")
def test_mutated_calls_over_thrift_in_http(world: World) -> None:
    over_thrift_in_http(world, 1_000, 5)


@pytest.mark.by_turns(5, of="mutants")
def test_mutated_requests_to_a_connector(world: World) -> None:
    over_the_connectors_port(world, 200, 3)


@pytest.mark.by_turns(5, of="mutants")
def test_mutated_records_in_the_topic(world: World) -> None:
    """Comes last, because some shards stop by it."""
    into_the_topic(world, 120, 4)


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_an_hour_of_mutants(world: World) -> None:
    deadline = time.monotonic() + 3600
    while time.monotonic() < deadline:
        number = Random().randrange(1 << 30)
        over_thrift(world, 2_000, number)
        over_thrift_in_http(world, 2_000, number)
        over_http(world, 2_000, number)
        over_the_connectors_port(world, 200, number)
    into_the_topic(world, 2_000, Random().randrange(1 << 30))
