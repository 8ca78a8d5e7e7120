"""Calls that take long to parse or to answer, while other clients wait."""

import asyncio
import threading

import pytest

from query_api.requirement import WRITE_IDS_CHARS_MAX
from query_api.thrift.call import Call, CallAnswer, Relay, RelayReason, Substitute
from query_api.thrift.methods import cached_methods
from query_api.thrift.methods.cached_methods import AT_ONCE_BYTES_MAX
from query_api.thrift.methods.dropped_methods import substitute
from query_api.thrift.methods.request import Understood
from tests.query_api.shards import ORDERS_ID, MemoryShards
from tests.query_api.thrift.methods.cached_calls import cached, call, get_table, now, reason


def with_write_ids(count: int) -> Call:
    ids = ",".join(map(str, range(1, count + 1)))
    return get_table(id=ORDERS_ID, validWriteIdList=f"sales.orders:{count + 1}:1:{ids}:")


def test_a_call_of_thousands_of_ids_is_answered_at_once(source: MemoryShards) -> None:
    assert cached(source).answer_now(with_write_ids(20_000)) is not None


async def test_a_long_call_is_parsed_once_and_in_a_thread(
    source: MemoryShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, threads = cached(source), []
    understand = cache._understand

    def understand_there(name: str, arguments: bytes) -> Understood:
        threads.append(threading.get_ident())
        return understand(name, arguments)

    monkeypatch.setattr(cache, "_understand", understand_there)
    request = with_write_ids(30_000)
    assert len(request.arguments) > AT_ONCE_BYTES_MAX
    assert cache.answer_now(request) is None
    assert not threads
    await cache.answer(request)
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_a_long_call_of_a_dropped_method_is_translated_in_a_thread(
    source: MemoryShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, threads = cached(source), []

    def substitute_there(call: Call) -> Substitute | None:
        threads.append(threading.get_ident())
        return substitute(call)

    monkeypatch.setattr(cached_methods, "substitute", substitute_there)
    for count in (10, 20_000):
        names = [f"table{number}" for number in range(count)]
        request = call("get_table_objects_by_name", db_name="sales", tbl_names=names)
        assert cache.may_be_dropped(request.method)
        other = await cache.instead(request)
        assert other is not None
        assert other.method == "get_table_objects_by_name_req"
    here, there = threads
    assert here == threading.get_ident() != there


async def test_one_long_call_is_parsed_at_a_time_even_if_clients_hang_up(
    source: MemoryShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, begun, may_end = cached(source), threading.Semaphore(0), threading.Event()
    parsed: list[bytes] = []

    def understand_later(_: str, arguments: bytes) -> Understood:
        parsed.append(arguments)
        begun.release()
        may_end.wait()
        return RelayReason.FORM

    monkeypatch.setattr(cache, "_understand", understand_later)
    requests = [get_table(validWriteIdList=str(n) * AT_ONCE_BYTES_MAX) for n in range(3)]
    first, second, third = (asyncio.create_task(cache.answer(request)) for request in requests)
    await asyncio.to_thread(begun.acquire)
    for client in (first, second):
        client.cancel()
        await asyncio.wait([client])
    await asyncio.sleep(0)
    may_end.set()
    await third
    assert parsed == [requests[0].arguments, requests[2].arguments]


def test_a_pattern_of_many_parts_is_matched_in_a_thread_or_by_the_metastore(
    source: MemoryShards,
) -> None:
    cache = cached(source)
    for pattern, is_at_once in (("s*", True), ("a|b|c|d|e|s*", False)):
        for request in (
            call("get_databases", pattern=pattern),
            call("get_table_meta", db_patterns=pattern, tbl_patterns="none"),
        ):
            if request.method == "get_databases":
                assert (cache.answer_now(request) is not None) == is_at_once
            assert isinstance(now(cache, request), CallAnswer)
    many = "|".join(["a"] * 100)
    for request in (
        call("get_databases", pattern=many),
        call("get_table_meta", db_patterns=many, tbl_patterns="*"),
        call("get_tables", db_name="sales", pattern=many),
    ):
        assert reason(now(cache, request)) is RelayReason.FORM


def test_a_write_id_list_that_is_too_long_is_the_metastores(source: MemoryShards) -> None:
    cache = cached(source)
    for chars, is_parsed in ((WRITE_IDS_CHARS_MAX, True), (WRITE_IDS_CHARS_MAX + 1, False)):
        # What follows the ids is ignored.
        write_ids = f"sales.orders:9:{2**63 - 1}:::".ljust(chars, "x")
        outcome = now(cache, get_table(id=ORDERS_ID, validWriteIdList=write_ids))
        is_left = isinstance(outcome, Relay) and outcome.reason is RelayReason.FORM
        assert is_left != is_parsed
