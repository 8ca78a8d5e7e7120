"""Clients that send too much, or take nothing: they are ended, and cost no memory to speak of."""

import asyncio
import json
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from struct import pack
from typing import NamedTuple

import psutil
import pytest

from metatide.stack.machine import LOOPBACK
from query_api.thrift.forward import FORWARDED
from tests.hostile.seeds import thrift_post
from tests.query_api.thrift.forwarded import question
from tests.query_api.thrift.serving import Client, Reply
from tests.query_api.thrift.structs import LIST, STRING, STRUCT, message, text
from tests.support import local_http
from tests.support.processes import die_with_parent

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]

MIB = 1 << 20
MEMORY_MAX = 256 * MIB
"""What clients may cost together, whatever they do."""
ROOM = 64 * MIB
"""What a few of them may cost."""
TABLE = "/v1/databases/sales/tables/large"
PAGE = f"{TABLE}/partitions?consistency=any&limit=2000"
GET_PAGE = f"GET {PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
GET_ALL = text(1, "sales") + text(2, "large") + b"\x06\0\3\xff\xff\0"
CLIENTS = 40
EMPTY_STRUCTS = 20_000_000


class Served(NamedTuple):
    """A process with both ports of a worker."""

    process: psutil.Process
    http: int
    thrift: int
    thrift_over_http: int

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.http}"

    @property
    def memory(self) -> int:
        size: int = self.process.memory_info().rss
        return size


@contextmanager
def serving() -> Iterator[Served]:
    command = [sys.executable, "-m", "tests.hostile.served"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent(signal.SIGKILL)
    ) as process:
        try:
            assert process.stdout is not None
            ports = map(int, process.stdout.readline().split())
            served = Served(psutil.Process(process.pid), *ports)
            # What the first answers need once.
            assert local_http.get(served.url + PAGE, timeout=60).status_code == 200
            yield served
            assert process.poll() is None
        finally:
            process.kill()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


@contextmanager
def growth(served: Served, limit: int) -> Iterator[None]:
    """Asserts that the process grows by no more within the block, and answers at its end."""
    before = highest = served.memory
    stop = False

    def watch() -> None:
        nonlocal highest
        while not stop:
            highest = max(highest, served.memory)
            time.sleep(0.01)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
        assert local_http.get(f"{served.url}{TABLE}?consistency=any", timeout=60).status_code == 200
    finally:
        stop = True
        watching.join()
    assert highest - before < limit, f"it grew by {(highest - before) // MIB} MiB"


def connected(port: int, *, takes_little: bool = False) -> socket.socket:
    opened = socket.socket()
    if takes_little:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.settimeout(60)
    opened.connect((LOOPBACK, port))
    return opened


def sent(opened: socket.socket, piece: bytes, count: int) -> int:
    """Sends a piece up to so many times, until there is an answer or the server hangs up; returns
    how many times it did.
    """
    for number in range(count):
        answered, writable, _ = select.select([opened], [opened], [], 60)
        if answered or not writable:
            return number
        try:
            opened.sendall(piece)
        except ConnectionError:
            return number
    return count


def problem(opened: socket.socket) -> str:
    """The reason in the response that ends the connection."""
    data = b""
    with suppress(ConnectionError):
        while piece := opened.recv(1 << 16):
            data += piece
    return str(json.loads(data.partition(b"\r\n\r\n")[2])["detail"])


def posting(*headers: str) -> bytes:
    lines = (
        f"POST {TABLE}/partition-names?consistency=any HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        *headers,
    )
    return "\r\n".join((*lines, "", "")).encode()


CHUNKED = posting("Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n"


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b"X-A: b\r\n" * 100, "trailers"),
        (b"X-A: " + b"b" * 8000 + b"\r\n", "trailers have more than"),
        (b"x" * 8000, "trailers have more than"),
    ],
)
def test_trailers_without_end_are_refused(served: Served, piece: bytes, reason: str) -> None:
    with growth(served, ROOM), connected(served.http) as opened:
        opened.sendall(CHUNKED)
        assert sent(opened, piece, 5000) < 5000
        assert reason in problem(opened)


def test_what_stands_before_a_chunk_has_a_limit(served: Served) -> None:
    with growth(served, ROOM), connected(served.http) as opened:
        opened.sendall(posting("Transfer-Encoding: chunked") + b"2;x=")
        assert sent(opened, b"y" * 8000, 5000) < 5000


def test_a_body_in_many_chunks_with_a_few_trailers_is_read(served: Served) -> None:
    body = json.dumps({"names": [f"ds={number:05}" for number in range(2000)]}).encode()
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body)
    with connected(served.http) as opened:
        opened.sendall(posting("Transfer-Encoding: chunked", "Connection: close"))
        opened.sendall(chunks + b"0\r\nX-Checksum: 1\r\n\r\n")
        with opened.makefile("rb") as answer:
            assert b" 200 " in answer.readline()


def posting_call(*headers: str) -> bytes:
    lines = ("POST /metastore HTTP/1.1", "Host: 127.0.0.1", *headers)
    return "\r\n".join((*lines, "", "")).encode()


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"POST /metastore HTTP/1.1\r\n", b"X-A: b\r\n" * 100),
        (b"POST /metastore HTTP/1.1\r\nX-A: ", b"b" * 8000),
        (b"POST /", b"x" * 8000),
        (posting_call("Transfer-Encoding: chunked") + b"2;x=", b"y" * 8000),
        (posting_call("Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n", b"X-A: b\r\n" * 100),
        (posting_call("Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n", b"x" * 8000),
    ],
)
def test_lines_without_end_before_a_call_are_refused(
    served: Served, beginning: bytes, piece: bytes
) -> None:
    with growth(served, ROOM), connected(served.thrift_over_http) as opened:
        opened.sendall(beginning)
        assert sent(opened, piece, 5000) < 5000


def test_requests_that_wait_for_their_responses_have_a_limit(served: Served) -> None:
    answers = 0
    with connected(served.http) as opened:
        opened.sendall(GET_PAGE + b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        with suppress(ConnectionError):
            while piece := opened.recv(1 << 16):
                answers += piece.count(b"HTTP/1.1 200")
    assert answers < 100
    assert local_http.get(f"{served.url}{TABLE}?consistency=any", timeout=60).status_code == 200


def of_empty_structs(method: str, count: int) -> bytes:
    """A call with a field that nobody knows: a list of structs without fields."""
    head = pack("!bhbi", LIST, 99, STRUCT, count)
    return message(method, text(1, "sales") + head + b"\0" * (count + 1))


@pytest.mark.parametrize("count", [EMPTY_STRUCTS, 8 * MIB])
@pytest.mark.parametrize("method", ["get_table", "add_partitions"])
def test_a_call_of_values_without_content_is_refused(
    served: Served, method: str, count: int
) -> None:
    async def test() -> tuple[int, Reply | None]:
        client = Client(*await asyncio.open_connection(LOOPBACK, served.thrift))
        data, at = of_empty_structs(method, count), 0
        reply = asyncio.create_task(client.reply())
        with suppress(ConnectionError):
            while at < len(data) and not reply.done():
                client.writer.write(data[at : at + 50_000])
                at += 50_000
                await client.writer.drain()
                await asyncio.sleep(0.005)
        try:
            return at, await reply
        finally:
            client.writer.transport.abort()

    with growth(served, ROOM):
        taken, reply = asyncio.run(test())
    assert taken < 4 * MIB
    assert reply is not None
    assert reply.kind == 3
    assert b"values" in reply.body


def called(served: Served, method: str, arguments: bytes) -> Reply | None:
    async def test() -> Reply | None:
        client = Client(*await asyncio.open_connection(LOOPBACK, served.thrift))
        try:
            return await client.call(method, arguments)
        finally:
            client.writer.transport.abort()

    return asyncio.run(test())


def by_names(count: int) -> bytes:
    names = [f"ds={number:05}".encode() for number in range(count)]
    head = text(1, "sales") + text(2, "large") + pack("!bhbi", LIST, 3, STRING, count)
    return head + b"".join(pack("!i", len(name)) + name for name in names) + b"\0"


@pytest.mark.parametrize("count", [32_767, 100_000])
def test_an_honest_call_of_many_names_is_answered(served: Served, count: int) -> None:
    reply = called(served, "get_partitions_by_names", by_names(count))
    assert reply is not None
    assert reply.kind == 2
    assert len(reply.body) > 8_000_000


def test_a_read_of_too_many_values_is_left_to_the_metastore(served: Served) -> None:
    reply = called(served, "get_partitions_by_names", by_names(400_000))
    assert reply is not None
    assert reply.kind == 3
    assert b"too_long" in reply.body


def test_an_honest_write_of_many_columns_is_relayed(served: Served) -> None:
    column = text(1, "column_1") + text(2, "bigint") + b"\0"
    columns = pack("!bhbi", LIST, 1, STRUCT, 200) + column * 200
    partition = text(2, "sales") + b"\x0c\0\6" + columns + b"\0\0"
    arguments = pack("!bhbi", LIST, 1, STRUCT, 1000) + partition * 1000 + b"\0"
    reply = called(served, "add_partitions", arguments)
    assert reply is not None
    assert b"no metastore to relay to" in reply.body


def forwarded(method: str, arguments: bytes) -> bytes:
    return message(FORWARDED, question(method, arguments))


def test_a_forwarded_call_of_values_without_content_is_not_read(served: Served) -> None:
    within = of_empty_structs("m", MIB)[len(message("m", b"")) :]
    reply = called(served, FORWARDED, question("get_table", within))
    assert reply is not None
    assert reply.body == b"\0"


def deaf(stack: ExitStack, port: int, data: bytes, count: int) -> list[socket.socket]:
    """Clients that ask and take nothing; each waits until the server has begun to answer."""
    clients = []
    for _ in range(count):
        opened = stack.enter_context(connected(port, takes_little=True))
        opened.sendall(data)
        with suppress(ConnectionError):
            opened.recv(1)
        clients.append(opened)
    return clients


CALLS = {
    "http": GET_PAGE,
    "forwarded": forwarded("get_partitions", GET_ALL),
    "thrift": message("get_partitions", GET_ALL),
    "thrift_over_http": thrift_post(message("get_partitions", GET_ALL)),
}


@pytest.mark.parametrize("kind", CALLS)
def test_clients_that_take_nothing_cost_no_more_together(served: Served, kind: str) -> None:
    port = {"http": served.http, "thrift_over_http": served.thrift_over_http}
    with growth(served, MEMORY_MAX), ExitStack() as stack:
        deaf(stack, port.get(kind, served.thrift), CALLS[kind], CLIENTS)


def test_ports_share_one_budget(served: Served) -> None:
    with growth(served, MEMORY_MAX), ExitStack() as stack:
        deaf(stack, served.http, CALLS["http"], CLIENTS // 2)
        deaf(stack, served.thrift, CALLS["forwarded"], CLIENTS // 2)
        deaf(stack, served.thrift_over_http, CALLS["thrift_over_http"], CLIENTS // 2)
        half = message("get_table", text(1, "x" * 40 * MIB) + b"\0")[: 20 * MIB]
        for _ in range(10):
            opened = stack.enter_context(connected(served.thrift))
            sent(opened, half, 1)


@pytest.mark.parametrize("port", ["http", "thrift_over_http"])
def test_bodies_that_never_end_cost_no_more_together(served: Served, port: str) -> None:
    head = posting if port == "http" else posting_call
    with growth(served, MEMORY_MAX), ExitStack() as stack:
        for _ in range(100):
            opened = stack.enter_context(connected(getattr(served, port)))
            opened.sendall(head("Content-Length: 4194304"))
            sent(opened, b" " * (4 * MIB - 1), 1)


@pytest.mark.parametrize("port", ["http", "thrift_over_http"])
def test_heads_that_never_end_cost_no_more_together(served: Served, port: str) -> None:
    with growth(served, ROOM), ExitStack() as stack:
        for _ in range(500):
            opened = stack.enter_context(connected(getattr(served, port)))
            opened.sendall(b"GET / HTTP/1.1\r\nX-Y: " + b"y" * 60_000)


def test_a_client_that_takes_its_answer_gets_it_beside_those_who_do_not(served: Served) -> None:
    with ExitStack() as stack:
        deaf(stack, served.http, GET_PAGE, CLIENTS // 2)
        for _ in range(2):
            answer = local_http.get(served.url + PAGE, timeout=60)
            assert len(answer.json()["partitions"]) == 2000
            reply = called(served, "get_partitions", GET_ALL)
            assert reply is not None
            assert len(reply.body) > 8_000_000
        deaf(stack, served.http, GET_PAGE, CLIENTS // 2)
