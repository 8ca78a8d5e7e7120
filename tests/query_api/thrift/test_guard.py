"""What the cache could answer, but leaves to metastores: by patterns, and by who asks."""

from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

import pytest

from hive.errors import InputError
from hive.names import DatabaseName
from query_api.authorization.areas import Area
from query_api.authorization.authorizer import Reader
from query_api.authorization.guard import Guard
from query_api.authorization.verdicts import MetastoreVerdicts
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.peers import Peers, SecretFile
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.targets import Target, TargetKind, of_catalog, of_database
from query_api.thrift.call import Call, CallAnswer, Relay
from tests.query_api.shards import ORDERS, moment
from tests.query_api.thrift.serving import HOST, Client, Metastore, answer, serving, why
from tests.query_api.thrift.structs import text

SALES = DatabaseName("hive", "sales")
TABLE = Target(TargetKind.TABLE, ORDERS)
NAMES = of_database(TargetKind.NAMES, SALES)
DATABASE = of_database(TargetKind.DATABASE, SALES)
DATABASES = of_catalog(TargetKind.DATABASES, "hive")


def answering_about(*targets: Target) -> Callable[[Call], CallAnswer]:
    return lambda _: answer("cache", targets=targets)


async def says(client: Client, method: str) -> str:
    reply = await client.call(method)
    assert reply is not None
    return reply.body[7:-1].decode()


METHODS: dict[str, Any] = {
    "get_table": answering_about(TABLE),
    "get_partitions": answering_about(Target(TargetKind.PARTITIONS, ORDERS), TABLE),
    "get_tables": answering_about(NAMES, DATABASE),
    "get_database": answering_about(DATABASE),
    "get_all_databases": answering_about(DATABASES),
    "get_open_txns": answering_about(),
    "list_privileges": lambda _: answer("cache"),
}


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (("sales.orders",), {"get_table", "get_partitions", "get_tables", "get_all_databases"}),
        (("sales",), set(METHODS) - {"get_open_txns", "list_privileges"}),
        (("hr.*",), {"get_all_databases"}),
        (("get_part*()",), {"get_partitions"}),
        (("GET_OPEN_TXNS()", "hr"), {"get_open_txns", "get_all_databases"}),
    ],
)
async def test_metastores_answer_what_patterns_name(
    patterns: tuple[str, ...], left: set[str]
) -> None:
    async with serving(Metastore(), more={"guard": Guard(patterns)}, **METHODS) as here:
        client = await here.connect()
        relayed = {method for method in METHODS if await says(client, method) != "cache"}
        # Where it isn't known what is told, the metastore answers, but not for methods alone.
        assert relayed - {"list_privileges"} == left
        assert ("list_privileges" in relayed) == any("(" not in pattern for pattern in patterns)
        for method in left:
            line = f'metatide_thrift_relayed_total{{method="{method}",reason="guarded"}} 1.0'
            assert line in here.metrics()


async def test_metastores_answer_what_is_else_kept_of_them() -> None:
    patterns = {"guard": Guard(("get_config*()", "getVersion()"))}
    async with serving(Metastore(), more=patterns) as here:
        client = await here.connect()
        for method in ("get_config_value", "getVersion", "get_metastore_db_uuid") * 2:
            assert await says(client, method) == f"m:{method}"
        heard = here.metastores[0].heard
        assert [heard.count(method) for method in sorted(set(heard))] == [2, 2, 1]
        line = 'relayed_total{method="get_config_value",reason="guarded"} 2.0'
        assert line in here.metrics()


@pytest.mark.parametrize("text", ["a.b.c", "get table()", "()", "a|b", "a.b()"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="isn't a pattern"):
        Guard((text,))


class Allowed:
    """An authorizer that a test tells whom it allows what."""

    def __init__(self) -> None:
        self.users: dict[str, set[Area]] = {}
        self.questions: list[tuple[str, Set[Area]]] = []

    async def may_see(self, reader: Reader, areas: Set[Area], position: Position) -> bool:
        self.questions.append((reader.user, areas))
        return areas <= self.users.get(reader.user, set())


async def user(client: Client, name: str) -> None:
    assert await client.call("set_ugi", text(1, name) + b"\x0f\0\2\x0b\0\0\0\0\0") is not None


async def test_nobody_gets_what_was_kept_for_another() -> None:
    allowed = Allowed()
    allowed.users["ann"] = {Area("hive", "sales", "orders")}

    def kept(_: Call) -> CallAnswer:
        return answer("cache", targets=(TABLE,), moment=moment(here.server._hub.views))

    async with serving(Metastore(), more={"guard": Guard((), allowed)}, get_table=kept) as here:
        ann, eve = await here.connect(), await here.connect()
        await user(ann, "ann")
        await user(eve, "eve")
        for _ in range(3):
            assert await says(ann, "get_table") == "cache"
            assert await says(eve, "get_table") == "m:get_table"
        assert len(allowed.questions) == 6
        assert 'reason="unauthorized"} 3.0' in here.metrics()


async def test_an_authorizer_that_fails_allows_nothing() -> None:
    class Failing:
        async def may_see(self, reader: Reader, areas: Set[Area], position: Position) -> bool:
            raise ValueError(f"{reader.user} and {areas}")

    async with serving(
        Metastore(), more={"guard": Guard((), Failing())}, get_table=answering_about(TABLE)
    ) as here:
        assert await says(await here.connect(), "get_table") == "m:get_table"


async def test_what_tells_of_nothing_guarded_is_answered_without_asking() -> None:
    allowed = Allowed()
    async with serving(Metastore(), more={"guard": Guard((), allowed)}, **METHODS) as here:
        client = await here.connect()
        assert await says(client, "get_open_txns") == "cache"
        assert await says(client, "list_privileges") == "m:list_privileges"
        assert not allowed.questions


class Later:
    """Stands for an authorizer that needs the running server."""

    authorizer: MetastoreVerdicts

    async def may_see(self, reader: Reader, areas: Set[Area], position: Position) -> bool:
        return await self.authorizer.may_see(reader, areas, position)


async def test_the_metastore_is_asked_by_a_read_on_the_users_connection() -> None:
    metastore = Metastore()
    metastore.replies["get_table_req"] = b"\x0c\0\0\0\0"
    metastore.replies["get_database"] = b"\x0c\0\1\0\0"
    later = Later()
    more = {"guard": Guard((), later)}
    async with serving(metastore, log=LogEnd(0, 1, []), more=more, **METHODS) as here:
        hub = here.server._hub
        later.authorizer = MetastoreVerdicts(hub.log_end_reads, 60.0)
        client = await here.connect()
        await user(client, "ann")
        for _ in range(2):
            assert await says(client, "get_table") == "cache"
            assert await says(client, "get_partitions") == "cache"
            assert await says(client, "get_database") != "cache"
        expected = ["set_ugi", "get_table_req", "get_database", "get_database", "get_database"]
        assert metastore.heard == expected
        assert b"orders" in metastore.calls[1]
        metastore.replies["get_table_req"] = None
        other = await here.connect()
        await user(other, "bob")
        assert await says(other, "get_table") == "m:get_table"


async def test_without_a_metastore_that_could_allow_it_nothing_is_told() -> None:
    later = Later()
    more = {"guard": Guard((), later)}
    async with serving(log=LogEnd(0, 1, []), more=more, **METHODS) as here:
        later.authorizer = MetastoreVerdicts(here.server._hub.log_end_reads, 60.0)
        reply = await (await here.connect()).call("get_table")
        assert "unauthorized" in why(reply)


async def test_an_answer_of_before_an_event_is_the_metastores() -> None:
    metastore, later = Metastore(), Later()
    metastore.replies["get_table_req"] = b"\x0c\0\0\0\0"
    log = LogEnd(0, 5, [(event, RowEffects(tables=(ORDERS,))) for event in (4, 5)])
    methods: dict[str, Any] = {
        f"get_{event}": lambda _, event=event: answer("cache", event=event, targets=(TABLE,))
        for event in (3, 5)
    }
    more = {"guard": Guard((), later)}
    async with serving(metastore, log=log, more=more, **methods) as here:
        hub = here.server._hub
        later.authorizer = MetastoreVerdicts(hub.log_end_reads, 60.0)
        client = await here.connect()
        await user(client, "ben")
        assert await says(client, "get_3") == "m:get_3"
        assert await says(client, "get_5") == "cache"


@pytest.mark.parametrize("has_secret", [True, False])
@pytest.mark.parametrize("targets", [(TABLE,), None])
async def test_what_another_worker_answers_is_guarded_too(
    workers_secret: Path, has_secret: bool, targets: Any
) -> None:
    allowed = Allowed()
    allowed.users["ann"] = {Area("hive", "sales", "orders")}
    address: list[Any] = [HOST, 0]

    async def owner_of(_: int) -> Any:
        return tuple(address)

    def more() -> dict[str, Any]:
        peers = Peers(SecretFile(workers_secret) if has_secret else None)
        return {"peers": peers, "guard": Guard((), allowed), "host": HOST}

    def not_ours(_: Call) -> Relay:
        return Relay(Reason.NOT_OWNED, 1)

    def owned(_: Call) -> CallAnswer:
        return answer("owner", targets=targets)

    async with (
        serving(more=more(), get_table=owned) as owner,
        serving(Metastore(), more={**more(), "owner_of": owner_of}, get_table=not_ours) as here,
    ):
        here.source.shards.append(None)
        address[1] = owner.port
        for name in ("ann", "eve"):
            client = await here.connect()
            await user(client, name)
            is_answered = has_secret and targets is not None and name == "ann"
            expected = "owner" if is_answered else "m:get_table"
            assert await says(client, "get_table") == expected
