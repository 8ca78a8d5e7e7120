"""Both clients, against a real server."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.lists import write_id_list
from hive.write_ids.relations import equal
from hive.write_ids.text import parse_write_id_list, print_write_id_list
from metatide.client import (
    AsyncClient,
    Client,
    InvalidUrlError,
    Need,
    NotFoundError,
    Position,
    ServerError,
    Settings,
    UnavailableError,
    Which,
    asynchronous,
    calls,
    sync,
)
from metatide.client.snapshot import committed
from query_api.http import Settings as ServerSettings
from query_api.http.access import FileTokens
from tests.metatide.client.awaited import awaited
from tests.metatide.client.serving import serving
from tests.metatide.client.warm_shards import DAYS, WriteIdDatabase, warm
from tests.query_api.shards import ORDERS_ID

Connect = Callable[..., AbstractContextManager[Client]]

ANY = Need("any")
AT_ONCE = Settings(retry_s=0)
"""Errors are raised at once."""
UNAWAITED = {
    "AsyncClient": "Client",
    "AsyncIterator": "Iterator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aread": "read",
    "async_wait": "wait",
}
"""Names in one client, and what they are in the other."""


@pytest.fixture(params=[Client, awaited])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Makes a client that is read from; an asynchronous one looks like the other."""
    made: Connect = request.param
    return made


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(warm(), WriteIdDatabase()) as at:
        yield at


def test_every_read_of_a_table(url: str, connect: Connect) -> None:
    with connect(url) as client:
        table = client.table("sales.orders", ANY)
        assert table.value.tableName == "orders"
        assert (table.source, table.reason, table.position) == ("cache", "fresh", Position(0, 5))
        assert [one.id for one in client.tables(["hive.sales.orders"], ANY).value] == [ORDERS_ID]
        partition = client.partition("sales.orders", f"ds={DAYS[0]}", ANY)
        assert partition.value.values == [DAYS[0]]
        page = client.partition_names("sales.orders", Which(limit=3), ANY)
        assert page.value == [f"ds={day}" for day in DAYS[:3]]
        rest = client.partition_names("sales.orders", Which(after=page.next or ""), ANY)
        assert rest.value == [f"ds={day}" for day in DAYS[3:]]
        some = Which(filter=f"ds > '{DAYS[7]}'")
        assert len(client.partitions("sales.orders", some, ANY).value) == 2
        assert client.partition_count("sales.orders", Which(prefix=[DAYS[1]]), ANY).value == 1
        names = Which(names=[f"ds={DAYS[2]}"])
        assert len(client.partitions("sales.orders", names, ANY).value) == 1
        streamed = [
            (one.values or [])[0] for one in client.stream_partitions("sales.orders", need=ANY)
        ]
        assert streamed == DAYS
        assert client.statistics("sales.orders", need=ANY).value == []
        assert client.partition_statistics("sales.orders", [f"ds={DAYS[0]}"], need=ANY).value == {}
        assert client.aggregate_statistics("sales.orders", [], ["amount"], need=ANY).value == []
        assert client.constraints("sales.orders", ANY).value.primaryKeys == []
        [ids] = client.write_ids(["sales.orders"]).value.tables
        assert (ids.id, ids.fullTableName) == (ORDERS_ID, "hive.sales.orders")


def test_reads_of_databases(url: str, connect: Connect) -> None:
    with connect(url) as client:
        assert client.database("sales", ANY).value.name == "sales"
        assert [one.name for one in client.databases("s*", need=ANY).value] == ["sales"]
        assert client.databases(after="sales", limit=1, need=ANY).value == []
        names = client.table_names("hive.sales", "o*", ["MANAGED_TABLE"], need=ANY)
        assert [one.tableName for one in names.value] == ["orders"]
        metadata = client.table_metadata("s*", "o*", ["MANAGED_TABLE"], need=ANY)
        assert [(one.dbName, one.tableName) for one in metadata.value] == [("sales", "orders")]
        assert client.table_metadata("t*", need=ANY).value == []
        assert client.functions("sales", need=ANY).value == []
        with pytest.raises(NotFoundError, match=r"no function a/b in hive\.sales "):
            client.function("hive.sales", "a/b", ANY)
        assert client.catalogs().value == ["hive"]
        assert client.current_event().value == 5


@pytest.mark.parametrize("open_ids", [[7], range(100_000, 130_000)])
def test_a_list_of_write_ids_may_be_long(
    url: str, open_ids: Sequence[int], connect: Connect
) -> None:
    ids = ",".join(map(str, open_ids))
    listed = f"sales.orders:200000:{open_ids[0]}:{ids}:"
    need = Need(write_ids=listed, table_id=ORDERS_ID, max_wait_ms=0)
    names = Which(names=[f"ds={DAYS[2]}"])
    with connect(url, AT_ONCE) as client:
        reads: list[Callable[[], object]] = [
            lambda: client.table("sales.orders", need),
            lambda: client.partition("sales.orders", f"ds={DAYS[0]}", need),
            lambda: client.partition_names("sales.orders", names, need),
            lambda: client.statistics("sales.orders", need=need),
            lambda: client.constraints("sales.orders", need),
            lambda: next(client.stream_partitions("sales.orders", need=need)),
        ]
        for read in reads:
            # The list is read: the database, which doesn't answer, has more commits.
            with pytest.raises(UnavailableError, match="database does not answer"):
                read()


def test_settings_are_shown_without_their_token() -> None:
    shown = repr(Settings(token="tide", timeout_s=3))
    assert "tide" not in shown
    assert "timeout_s=3" in shown


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_used_are_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=f"^verify: {path} can't be used: "):
        Client("https://127.0.0.1:1", Settings(verify=str(path)))


def test_a_long_list_is_sent_as_ever_where_no_table_is_read() -> None:
    need = Need(write_ids=f"sales.orders:9:9:{'1,' * 9000}9:")
    with httpx.Client() as client:
        assert calls.of_table("sales.orders").request(client, need).method == "POST"
        for call in (calls.of_database("sales"), calls.CATALOGS):
            assert call.request(client, need).method == "GET"


def test_lists_of_databases_and_functions_have_pages(connect: Connect) -> None:
    urls: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(request.url)
        headers = {"source": "cache", "reason": "fresh", "position": "0:5"}
        key = request.url.path.rpartition("/")[2]
        body = {key: [], "next": "b"}
        named = {f"metatide-{name}": value for name, value in headers.items()}
        return httpx.Response(200, json=body, headers=named)

    with connect("http://here", Settings(transport=httpx.MockTransport(answer))) as client:
        assert client.databases(after="a", limit=2).next == "b"
        assert client.functions("sales", after="a", limit=2).next == "b"
    page = {"pattern": "*", "after": "a", "limit": "2"}
    assert [(url.path, dict(url.params)) for url in urls] == [
        ("/v1/databases", page),
        ("/v1/databases/sales/functions", page),
    ]


def test_an_empty_pattern_is_sent_because_it_matches_nothing() -> None:
    for call, patterns in (
        (calls.of_names("sales", "", (), "", None), {"pattern": ""}),
        (calls.of_names_of_all("", "", "*", (), "", None), {"database": "", "pattern": "*"}),
        (calls.of_databases("", "", "", None), {"pattern": ""}),
        (calls.of_functions("sales", "", "", None), {"pattern": ""}),
    ):
        with httpx.Client() as client:
            assert dict(call.request(client, ANY).url.params) == patterns


async def test_the_asynchronous_client_is_awaited(url: str) -> None:
    async with AsyncClient(url) as client:
        assert (await client.table("sales.orders", ANY)).value.id == ORDERS_ID
        rows = [one async for one in client.stream_partitions("sales.orders", need=ANY)]
        assert len(rows) == len(DAYS)
    with pytest.raises(RuntimeError, match="closed"):
        await client.table("sales.orders", ANY)


def unawaited(module: ModuleType) -> str:
    """What its client does, as if nothing had to be awaited."""
    code = re.sub(r"\b(async|await) ", "", inspect.getsource(module))
    tree = ast.parse(re.sub(r"\w+", lambda word: UNAWAITED.get(word[0], word[0]), code))
    [client] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    del tree.body[0], client.body[0]
    return ast.unparse(tree)


def test_both_clients_differ_in_what_is_awaited_alone() -> None:
    """Their calls, what these take, say and do; but for the texts about each as a whole."""
    assert unawaited(asynchronous) == unawaited(sync)


def test_a_snapshot_reads_by_its_lists(url: str, connect: Connect) -> None:
    with connect(url, AT_ONCE) as client:
        reader = client.snapshot(["sales.orders"])
        assert reader.table("sales.orders").reason == "fresh"
        own = reader.with_committed("sales.orders", 2)
        with pytest.raises(UnavailableError, match=r"the cache can't answer \(behind\)") as refused:
            own.partitions("sales.orders")
        assert refused.value.retry_after_s == 1
        with pytest.raises(ValueError, match=r"the snapshot has no sales\.other"):
            reader.table("sales.other")
        with pytest.raises(ValueError, match="one table at a time"):
            reader.tables(["sales.orders"])
        assert reader.tables(["sales.orders"], ANY).value[0].id == ORDERS_ID
        with pytest.raises(ValueError, match="only a client made by snapshot"):
            client.with_committed("sales.orders", 2)


def test_a_session_carries_the_highest_position(url: str, connect: Connect) -> None:
    with connect(url, AT_ONCE) as client:
        session = client.session()
        session.table("sales.orders", ANY)
        assert session.position == Position(0, 5)
        assert client.position is None
        session.seen(Position(0, 9))
        with pytest.raises(UnavailableError, match="behind"):
            session.table("sales.orders", Need("any", max_wait_ms=0))
        assert client.table("sales.orders", ANY).source == "cache"


def test_only_a_session_takes_note_of_what_it_shall_show(url: str, connect: Connect) -> None:
    """Reads of another client would show older states all the same."""
    says = r"only a client made by session\(\) remembers"
    with connect(url, AT_ONCE) as client:
        for plain in (client, client.snapshot(["sales.orders"])):
            with pytest.raises(ValueError, match=says):
                plain.seen(Position(0, 9))
            with pytest.raises(ValueError, match=says):
                plain.after_write()
            assert plain.position is None
        session = client.session().snapshot(["sales.orders"])
        session.after_write()
        assert session.position == Position(0, 5)


def test_a_session_carries_the_position_of_what_does_not_exist(url: str, connect: Connect) -> None:
    """Else its next read could show what has been dropped by then."""
    with connect(url, AT_ONCE) as client:
        for read in (session_table, session_partitions):
            session = client.session()
            with pytest.raises(NotFoundError) as missing:
                read(session)
            assert session.position == missing.value.position == Position(0, 5)
            assert client.position is None


def test_a_stream_of_something_else_is_an_error_of_the_server(connect: Connect) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    with connect("http://elsewhere", Settings(transport=transport)) as elsewhere:
        for read in (session_table, session_partitions):
            with pytest.raises(ServerError, match="name a worker's address") as strange:
                read(elsewhere)
            assert strange.value.status == 200


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_no_url_is_an_error_of_the_client(kind: Callable[[str], object]) -> None:
    for bad in (
        *("http://127.0.0.1:abc", "http://[::1", "http://me:secret/1@host", "http://"),
        *("127.0.0.1:8080", "localhost:8080", "ftp://host", "http://host?secret", ""),
    ):
        with pytest.raises(InvalidUrlError, match="write http://HOST:PORT") as refused:
            kind(bad)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("token", ["", "secret\n", " secret", "secrét"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match=r"^token: it is empty, or has a line break") as refused:
        Client("http://127.0.0.1:8080", Settings(token))
    assert "secr" not in str(refused.value)


@pytest.mark.parametrize("name", ["..", ".", "../../lines", "ds=1/../../../lines"])
def test_a_name_leads_nowhere_else(url: str, name: str, connect: Connect) -> None:
    """Else what stands at another path would pass for what was asked for."""
    with connect(url, AT_ONCE) as client:
        with pytest.raises(ServerError, match=re.escape(f"bad name '{name}'")):
            client.partition("sales.orders", name, ANY)
        with pytest.raises(UnavailableError, match="silent_log"):
            client.function("sales", name)


@pytest.mark.parametrize("name", ["", "hive.", ".."])
def test_a_name_of_nothing_is_no_database(name: str, connect: Connect) -> None:
    with connect("http://127.0.0.1:8080", AT_ONCE) as client:
        for read in (client.database, client.table_names, client.functions):
            with pytest.raises(ValueError, match=r"is no database: write db or catalog\.db"):
                read(name)
        with pytest.raises(ValueError, match="the name of the function is empty"):
            client.function("sales", "")


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"{}", b'{"names": 1}'])
def test_an_answer_whose_body_is_none_is_an_error_of_the_server(body: bytes) -> None:
    headers = {"metatide-source": "cache", "metatide-reason": "fresh", "metatide-position": "0:5"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
    with (
        Client("http://elsewhere", Settings(transport=transport)) as client,
        pytest.raises(ServerError, match="name a worker's address"),
    ):
        client.catalogs()


@pytest.mark.parametrize(
    ("text", "says"), [("no worker", "no worker"), ("", "Service Unavailable")]
)
def test_what_stands_before_a_server_may_be_busy_in_its_own_words(text: str, says: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(503, text=text))
    with (
        Client("http://here", Settings(transport=transport, retry_s=0)) as client,
        pytest.raises(UnavailableError, match=rf"^{says} \(503\)$") as refused,
    ):
        client.catalogs()
    assert refused.value.retry_after_s == 1


def test_what_is_too_long_for_a_url_is_an_error_of_the_client(url: str, connect: Connect) -> None:
    with connect(url, AT_ONCE) as client, pytest.raises(InvalidUrlError, match="too long"):
        client.database("d" * 100_000)


@pytest.mark.parametrize(
    ("path", "body"), [("", {"detail": "Not Found"}), ("/api", {"detail": "no"}), ("/api", {})]
)
def test_what_does_not_answer_as_metatide_does_says_nothing_of_objects(
    url: str, path: str, body: dict[str, str], connect: Connect
) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(404, json=body))
    with connect("http://elsewhere" + path, Settings(transport=transport)) as elsewhere:
        for read in (session_table, session_partitions):
            with pytest.raises(ServerError, match="name a worker's address") as strange:
                read(elsewhere)
            assert not isinstance(strange.value, NotFoundError)
    with connect(f"{url}/api", AT_ONCE) as wrong, pytest.raises(ServerError) as strange:
        wrong.table("sales.orders")
    assert not isinstance(strange.value, NotFoundError)


def session_table(session: Client) -> None:
    session.table("sales.never", ANY)


def session_partitions(session: Client) -> None:
    list(session.stream_partitions("sales.never", need=ANY))


def test_an_age_is_part_of_the_consistency(url: str, connect: Connect) -> None:
    by_age = Need(max_age_ms=250)
    assert by_age.headers == {"Metatide-Consistency": "within; max_age_ms=250"}
    assert Need("within", max_age_ms=250).headers == by_age.headers
    with connect(url) as client:
        for need in (by_age, Need("within")):
            assert client.table("sales.orders", need).value.tableName == "orders"


def test_errors_say_what_the_server_said(url: str, connect: Connect) -> None:
    with connect(url) as client:
        with pytest.raises(NotFoundError, match=r"no table hive\.sales\.never"):
            client.table("sales.never", ANY)
        with pytest.raises(ServerError, match="bad filter") as refused:
            client.partitions("sales.orders", Which(filter="ds"), ANY)
        assert refused.value.status == 400
        with pytest.raises(ValueError, match=r"write db\.table"):
            client.table("orders")


CLIENT_PAGE = Path(__file__).parents[3] / "docs" / "client.md"


@pytest.mark.parametrize(
    "example",
    re.findall(r"^```python\n(.*?)^```$", CLIENT_PAGE.read_text(), re.DOTALL | re.MULTILINE),
)
def test_the_examples_of_its_page_run(
    example: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(example.replace("http://127.0.0.1:8080", url), str(CLIENT_PAGE), "exec"), {})
    assert capsys.readouterr().out


def test_a_token_opens_the_door(tmp_path: Path, connect: Connect) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"read {sha256(b'secret').hexdigest()}")
    with serving(warm(), settings=ServerSettings(tokens=FileTokens(file))) as at:
        with connect(at) as client, pytest.raises(ServerError, match="send a valid token"):
            client.table("sales.orders", ANY)
        with connect(at, Settings(token="secret")) as client:
            assert client.table("sales.orders", ANY).source == "cache"


IDS = st.lists(st.integers(1, 12), unique=True)


@given(st.integers(0, 10), IDS, IDS, st.integers(1, 14))
def test_an_own_write_is_committed_and_nothing_else_changes(
    hwm: int, open_ids: list[int], aborted_ids: list[int], own: int
) -> None:
    opened = [one for one in open_ids if one <= hwm and one not in aborted_ids]
    aborted = [one for one in aborted_ids if one <= hwm and one != own]
    before = write_id_list(hwm, opened, aborted, "d.t")
    after = parse_write_id_list(committed(print_write_id_list(before), own))
    expected = {one for one in range(1, hwm + 1) if before.is_valid(one)} | {own}
    assert {one for one in range(1, 20) if after.is_valid(one)} == expected
    if own <= hwm and own not in opened:
        assert equal(before, after)
