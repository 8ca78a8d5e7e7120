"""What shadow mode tells of the cache's answers and the metastore's."""

import asyncio

import pytest
import structlog.testing

from hive.errors import InputError
from hive.thrift.binary import encode
from hive.thrift.structs import TABLE
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift import shadow
from query_api.thrift.call import Call, CallAnswer, Relay, Substitute
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.serving import Metastore, Running, answer, result, serving, until
from tests.query_api.thrift.structs import text

SHADOW = ThriftSettings(shadow=True)


async def test_shadow_mode_gives_the_metastores_answer_and_counts_what_the_cache_says() -> None:
    def cold(call: Call) -> Relay:
        return Relay(Reason.COLD)

    metastore = Metastore()
    metastore.replies["get_changing"] = result("old")
    async with serving(
        metastore,
        settings=ThriftSettings(shadow=True),
        get_same=lambda _: answer("m:get_same"),
        get_other=lambda _: answer("wrong"),
        get_cold=cold,
        get_far=lambda _: Relay(Reason.NOT_OWNED, 1),
        get_changing=lambda _: answer("new"),
    ) as here:
        client = await here.connect()
        for method in ("get_same", "get_other", "get_cold", "get_far"):
            reply = await client.call(method, text(1, "db") + b"\0")
            assert reply is not None
            assert reply.body == result(f"m:{method}")
        await client.call("get_changing")
        metastore.replies["get_changing"] = result("new")
        await until(lambda: here.metrics().count("shadowed_total{") == 5)
        page = here.metrics()
        for method, outcome in (
            ("get_same", "equal"),
            ("get_other", "different"),
            ("get_cold", "miss"),
            ("get_far", "elsewhere"),
            ("get_changing", "equal"),
        ):
            assert f'{{method="{method}",outcome="{outcome}"}} 1.0' in page
        (difference,) = here.server.differences
        assert difference.method == "get_other"
        assert difference.arguments == "{1: b'db'}"
        assert difference.places == [("/0", "b'wrong'", "b'm:get_other'")]


@pytest.mark.parametrize(("theirs", "outcome"), [(None, "equal"), (True, "different")])
async def test_a_table_that_isnt_said_to_be_temporary_is_not(
    theirs: bool | None, outcome: str
) -> None:
    def table(temporary: bool | None) -> bytes:
        fields = {"tableName": "t", "sd": {"location": "a"}, "tableType": "EXTERNAL_TABLE"}
        plain = b"".join(encode(TABLE, fields).split(b"\x02\x00\x0e\x00"))
        said = b"" if temporary is None else b"\x02\x00\x0e" + bytes([temporary])
        return b"\x0c\0\0" + plain[:-1] + said + b"\0\0"

    metastore = Metastore()
    metastore.replies["get_table"] = table(theirs)
    ours = CallAnswer(table(False), Source.CACHE, Reason.FRESH, Position(0, 1))
    settings = ThriftSettings(shadow=True)
    async with serving(metastore, settings=settings, get_table=lambda _: ours) as here:
        await (await here.connect()).call("get_table")
        await until(lambda: "shadowed_total{" in here.metrics())
        assert f'outcome="{outcome}"' in here.metrics()


async def compared(here: Running, outcome: str) -> None:
    """Asks once, and waits for the outcome."""
    assert await (await here.connect()).call("get_table") is not None
    await until(lambda: "shadowed_total{" in here.metrics())
    assert f'{{method="get_table",outcome="{outcome}"}} 1.0' in here.metrics()


def texts(*values: str) -> bytes:
    items = b"".join(len(value).to_bytes(4) + value.encode() for value in values)
    return b"\x0f\0\0\x0b" + len(values).to_bytes(4) + items + b"\0"


def raised(number: int, message: str) -> bytes:
    return b"\x0c\0" + bytes([number]) + text(1, message) + b"\0\0"


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"),
    [
        (texts("a", "b"), texts("b", "a"), "reordered"),
        (raised(2, "no table"), raised(2, "there is none"), "equal"),
        (raised(2, "no table"), raised(1, "no table"), "different"),
        (texts(*"abcdefgh"), texts(*"ABCDEFGH"), "different"),
    ],
)
async def test_results_are_compared_by_what_they_mean(
    ours: bytes, theirs: bytes, outcome: str
) -> None:
    metastore = Metastore()
    metastore.replies["get_table"] = theirs
    ours_alone = CallAnswer(ours, Source.CACHE, Reason.FRESH, Position(0, 1))
    async with serving(metastore, settings=SHADOW, get_table=lambda _: ours_alone) as here:
        await compared(here, outcome)
        for difference in here.server.differences:
            assert 1 <= len(difference.places) <= shadow.PATHS_MAX


async def test_an_answer_in_pieces_is_compared_whole() -> None:
    whole = result("m:get_table")
    async with serving(
        Metastore(), settings=SHADOW, get_table=lambda _: answer(iter([whole[:5], whole[5:]]))
    ) as here:
        await compared(here, "equal")


async def test_an_exception_is_no_answer_to_compare_with() -> None:
    metastore = Metastore()
    metastore.kinds["get_table"] = 3
    async with serving(metastore, settings=SHADOW, get_table=lambda _: answer("c")) as here:
        await compared(here, "skipped")
        assert not here.methods.calls


def breaks(_: Call) -> CallAnswer:
    raise InputError("it has its reasons")


async def failed(here: Running) -> str:
    """Asks once; returns why the comparison failed."""
    with structlog.testing.capture_logs() as logs:
        await compared(here, "failed")
    (why,) = [entry["error"] for entry in logs if "comparison" in entry["event"]]
    return str(why)


async def test_a_comparison_that_fails_says_why() -> None:
    async with serving(Metastore(), settings=SHADOW, get_table=breaks) as here:
        assert await failed(here) == "it has its reasons"


class Once(Metastore):
    """Answers its first call."""

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        return bool(self.heard) or super()._reply(scanner, writer)


async def test_a_metastore_that_takes_too_long_for_a_second_answer_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shadow, "PATIENCE_S", 0.05)
    async with serving(Once(), settings=SHADOW, get_table=lambda _: answer("c")) as here:
        assert await failed(here) == "no reply within 0.05 s"


async def test_an_exception_in_place_of_a_second_answer_makes_no_difference() -> None:
    metastore = Metastore()

    def late(_: Call) -> CallAnswer:
        metastore.kinds["get_table"] = 3
        return answer("c")

    async with serving(metastore, settings=SHADOW, get_table=late) as here:
        assert "an exception" in await failed(here)
        assert not here.server.differences


async def test_a_method_that_metastores_may_lack_is_compared_by_its_successor() -> None:
    def translated(data: bytes) -> bytes:
        assert data == result("m:get_table_req")
        return result("now" if metastore.heard[1:] else "before")

    metastore = Metastore()
    async with serving(metastore, settings=SHADOW, get_table=lambda _: answer("now")) as here:
        here.methods.substitutes["get_table"] = Substitute("get_table_req", b"\0", translated)
        await compared(here, "equal")
        assert metastore.heard == ["get_table_req", "get_table_req"]
