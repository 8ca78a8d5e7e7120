"""What a metastore answers alike as long as it runs is asked for once."""

import asyncio
from typing import Any, cast

import pytest

from metatide.config.values import ThriftUrl
from query_api.thrift.metastore import constants
from query_api.thrift.metastore.constants import Constants
from query_api.thrift.metastore.link import Link
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.methods import wire
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.serving import HOST, Client, Metastore, result, serving, until
from tests.query_api.thrift.structs import message, text
from tests.support.hive.metastore import MetastoreFactory

WAREHOUSE = text(1, "metastore.warehouse.dir") + text(2, "") + b"\0"
OTHER = text(1, "metastore.no_such") + text(2, "x") + b"\0"

SECOND = text(1, "metastore.no_such") + text(2, "y") + b"\0"


async def value(client: Client, call: bytes = WAREHOUSE) -> bytes:
    reply = await client.call("get_config_value", call)
    assert reply is not None
    assert reply.kind == 2
    return reply.body


async def test_all_clients_together_ask_once_for_each_setting() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        for _ in range(3):
            client = await here.connect()
            for call in (WAREHOUSE, OTHER, WAREHOUSE):
                assert await value(client, call) == result("m:get_config_value")
        assert metastore.heard == ["get_config_value"] * 2
        assert metastore.connections == 1
        line = 'answers_total{method="get_config_value",reason="fresh",source="cache"} 9.0'
        assert line in here.metrics()


async def test_a_call_without_effect_or_answer_is_made_once() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        metastore.replies["flushCache"] = b"\0"
        client = await here.connect()
        for _ in range(3):
            reply = await client.call("flushCache")
            assert reply is not None
            assert reply.body == b"\0"
        assert metastore.heard == ["flushCache"]


async def test_a_metastore_that_starts_anew_is_asked_again() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        client = await here.connect()
        assert await value(client) == result("m:get_config_value")
        await metastore.stop()
        metastore.replies["get_config_value"] = result("new")
        await metastore.start()
        assert await value(client) == result("new")


async def test_an_answer_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "CACHED_S", 0.0)
    async with serving(Metastore()) as here:
        client = await here.connect()
        for _ in range(3):
            await value(client)
        assert len(here.metastores[0].heard) == 3


async def test_when_there_is_no_room_the_oldest_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "CACHED_MAX", 2)
    async with serving(Metastore()) as here:
        client = await here.connect()
        for call in (WAREHOUSE, OTHER, SECOND, SECOND, OTHER):
            await value(client, call)
        assert len(here.metastores[0].heard) == 3
        await value(client, WAREHOUSE)
        assert len(here.metastores[0].heard) == 4


async def test_what_has_ended_is_replaced_when_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "CACHED_MAX", 2)
    monkeypatch.setattr(constants, "CACHED_S", 0.0)
    async with serving(Metastore()) as here:
        client = await here.connect()
        for call in (WAREHOUSE, OTHER):
            await value(client, call)
        monkeypatch.setattr(constants, "CACHED_S", 60.0)
        for call in (WAREHOUSE, OTHER) * 3:
            await value(client, call)
        assert len(here.metastores[0].heard) == 4


async def test_a_refusal_is_not_kept() -> None:
    refusal = b"\x0c\0\1" + text(1, "for security reasons") + b"\0\0"
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        metastore.replies["get_config_value"] = refusal
        client = await here.connect()
        assert await value(client) == refusal
        metastore.replies["get_config_value"] = result("told")
        assert await value(client) == result("told")


@pytest.mark.parametrize(
    "settings", [ThriftSettings(relay_reads=True), ThriftSettings(shadow=True)]
)
async def test_where_the_metastore_answers_all_reads_it_answers_these(
    settings: ThriftSettings,
) -> None:
    async with serving(Metastore(), settings=settings) as here:
        client = await here.connect()
        for _ in range(2):
            await value(client)
        assert here.metastores[0].heard == ["get_config_value"] * 2


async def test_without_a_metastore_there_is_no_answer() -> None:
    async with serving(upstream=UpstreamSettings(((HOST, 9),))) as here:
        client = await here.connect()
        reply = await client.call("get_config_value", WAREHOUSE)
        assert reply is not None
        assert b"no metastore answers" in reply.body


class Silent:
    """Metastores that never answer."""

    def __init__(self) -> None:
        self.attempts = 0

    async def open(self) -> Link:
        self.attempts += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_failure_counts_for_all_who_wait_and_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "TIMEOUT_S", 0.1)
    silent = Silent()
    own = Constants(cast(Upstreams, silent))
    questions = [("getVersion", b"\0"), ("get_config_value", WAREHOUSE)] * 10
    results = await asyncio.gather(*(own.ask(*question) for question in questions))
    assert results == [None] * 20
    assert await own.ask("flushCache", b"\0") is None
    assert silent.attempts == 1
    monkeypatch.setattr(constants, "monotonic", lambda: float("inf"))
    assert await own.ask("flushCache", b"\0") is None
    assert silent.attempts == 2


@pytest.mark.hive
async def test_a_real_metastore_tells_clients_with_settings_of_their_own_the_same(
    metastore_factory: MetastoreFactory,
) -> None:
    metastores = metastore_factory()
    address = ThriftUrl(metastores.addresses[0]).address
    key = "metastore.try.direct.sql"
    calls: list[tuple[str, Any]] = [
        ("getVersion", arguments("getVersion")),
        ("get_metastore_db_uuid", arguments("get_metastore_db_uuid")),
        *(
            ("get_config_value", arguments("get_config_value", *given))
            for given in ((key, "x"), ("metastore.no_such", "x"), ("other", ""), (None, "y"))
        ),
    ]
    with wire.connect(metastores.addresses[0]) as direct:
        direct.call("setMetaConf", arguments("setMetaConf", key, "false"))
        async with serving(upstream=UpstreamSettings((address,))) as here:
            client = await here.connect()
            await client.call("setMetaConf", arguments("setMetaConf", key, "false"))
            for method, call in [*calls, *calls]:
                reply = await client.call(method, call)
                assert reply is not None
                assert reply.body == direct.call(method, call), method


async def test_an_exception_is_told_but_not_kept() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        metastore.kinds["get_config_value"] = 3
        client = await here.connect()
        for calls in (2, 4):
            reply = await client.call("get_config_value", WAREHOUSE)
            assert reply is not None
            assert reply.kind == 3
            assert len(metastore.heard) == calls


async def test_a_client_that_goes_while_it_waits_leaves_no_half_answer() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        metastore.delay_s = 0.05
        gone, client = await here.connect(), await here.connect()
        gone.send(message("get_config_value", WAREHOUSE))
        await until(lambda: bool(metastore.calls))
        await gone.close()
        metastore.replies["get_config_value"] = result("next")
        assert await value(client, OTHER) == result("next")
        assert metastore.connections == 2
