"""Requests as clients send them, from which hostile ones are made."""

from typing import Any, Final

import httpx

from metatide.stack.machine import LOOPBACK
from metatide.worker.operations import OPERATIONS
from query_api.http.openapi import document
from query_api.thrift.forward import FORWARDED
from query_api.thrift.protocol.frames import Frames
from tests.query_api.sales import DAYS, ORDERS
from tests.query_api.thrift.forwarded import question
from tests.query_api.thrift.methods import corpus
from tests.query_api.thrift.methods.wire import request
from tests.query_api.thrift.structs import compacted, message
from tests.support.mutations import NUMBERS

OF_EACH_METHOD: Final = 4
TABLE: Final = f"/v1/databases/{ORDERS.db}/tables/{ORDERS.table}"
_EVERYTHING: Final = f"{ORDERS.db}.{ORDERS.table}:9:{2**63 - 1}::"
_LONG_POLL: Final = "max_wait_ms"

IN_THRIFT: Final = (
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\0\0\0\x01"),
    *(b"\x0f\x0c\0\xff\xff\xff", b"\x0d\x0b\x0b", b"\x0c" * 100, b"\x0f\0\1\x0f" * 60, b"\0"),
    *(b"\x80\x01\0\1", b"\x80\x01\0\4", b"\x80\x02\0\1", b"\x01\0\0\0", b"GET / HTTP/1.1\r\n"),
    *(b"\xff", b"\xed\xa0\x80", b"@hive#", b"x" * 300, b"\0\0\x10\0", b"%00", b"..", b"*|" * 200),
)
IN_HTTP: Final = (
    *NUMBERS,
    *(b"\r\n", b"\r\n\r\n", b"\n", b"\0", b" ", b"\xff", b"%00", b"%ff", b"%", b"/", b"/../", b"?"),
    *(b"Content-Length: 99\r\n", b"Content-Length: -1\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(
        b"Host: \xe9\r\n",
        b"Host: a b\r\n",
        b"HTTP/9.9",
        b"HEAD ",
        b"OPTIONS ",
        b"Connection: x\r\n",
    ),
    *(b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"x" * 300, b"a" * 70_000, b"&&=="),
    *(b"null", b"[]", b"{}", b"[" * 2000, b'"', b'\\"', b"\\u0000", b"\\ud800", b"true", b"1e999"),
    *(
        b"metatide-min-position: 0:99\r\n",
        b"if-none-match: *\r\n",
        b"accept: application/x-ndjson\r\n",
    ),
)


def thrift_calls() -> list[bytes]:
    """Calls of each method that the cache answers, and of some that a metastore must answer, as
    clients of each transport and protocol send them.
    """
    table = corpus.Table(
        *(ORDERS.db, ORDERS.table, ("ds",), ("id", "amount")),
        *(tuple(f"ds={day}" for day in DAYS), tuple((day,) for day in DAYS), _EVERYTHING, 1),
    )
    calls = [*corpus.sample(corpus.calls_about([ORDERS.db], [table]), OF_EACH_METHOD), *_others()]
    plain = [
        *(message(call.method, call.given) for call in calls),
        message(FORWARDED, question(calls[0].method, calls[0].given)),
    ]
    both = [*plain, *map(compacted, plain)]
    return [*both, *(Frames().framed(call) for call in both)]


def well_behaved() -> corpus.Call:
    """A call that the cache answers once the table is loaded."""
    return corpus.req("get_table_req", "GetTableRequest", dbName=ORDERS.db, tblName=ORDERS.table)


def _others() -> list[corpus.Call]:
    call, place = corpus.call, (ORDERS.db, ORDERS.table)
    return [
        call("set_ugi", "ann", ["users"]),
        call("setMetaConf", "metastore.batch.retrieve.max", "100"),
        call("getMetaConf", "metastore.batch.retrieve.max"),
        call("get_config_value", "hive.metastore.warehouse.dir", ""),
        call("drop_table", *place, False),
        call("drop_partition", *place, [DAYS[0]], False),
        call("get_valid_write_ids", request("GetValidWriteIdsRequest", fullTableNames=[])),
        call("open_txns", request("OpenTxnRequest", num_txns=1, user="a", hostname="b")),
        call("partition_name_to_vals", f"ds={DAYS[0]}"),
        call("flushCache"),
    ]


_HIVES_HEAD: Final = (
    b"POST /metastore/* HTTP/1.1\r\nContent-Type: application/x-thrift\r\n"
    b"X-Actor-Username: ann\r\nHost: 127.0.0.1\r\n"
)


def thrift_posts() -> list[bytes]:
    """Each of these calls as a request of HTTP, and one in chunks."""
    # There are no frames in a body.
    calls = [call for call in thrift_calls() if call[0]]
    in_chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for part in (calls[0][:9], calls[0][9:])
    )
    chunked = _HIVES_HEAD + b"Transfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % in_chunks
    return [*map(thrift_post, calls), chunked]


def thrift_post(call: bytes) -> bytes:
    """What Hive's client over HTTP sends."""
    return _HIVES_HEAD + b"Content-Length: %d\r\n\r\n" % len(call) + call


def http_requests() -> list[bytes]:
    """A request for each operation of a worker, with each of its parameters once."""
    described = document(OPERATIONS)
    requests = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parameters = [_resolved(described, parameter) for parameter in operation["parameters"]]
            in_path = {p["name"]: p["example"] for p in parameters if p["in"] == "path"}
            query = {
                p["name"]: p["example"]
                for p in parameters
                if p["in"] == "query" and p["name"] != _LONG_POLL
            }
            body = operation.get("requestBody", {"content": {}})["content"]
            example = body.get("application/json", {}).get("example")
            url = path.format(**in_path)
            for some in ({}, *({name: value} for name, value in query.items()), query):
                requests.append(_bytes(method, url, some, example))
    return [*requests, *(_bytes("get", path, {}, None) for path in ("/", "/metrics", "/readyz"))]


def _resolved(described: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    name = parameter.get("$ref", "").rpartition("/")[2]
    resolved: dict[str, Any] = described["components"]["parameters"][name] if name else parameter
    return resolved


def _bytes(method: str, path: str, query: dict[str, Any], body: Any) -> bytes:
    """What httpx sends."""
    content = {} if body is None else {"json": body}
    sent = httpx.Request(method, f"http://{LOOPBACK}:1{path}", params=query or None, **content)
    head = [b" ".join((sent.method.encode(), sent.url.raw_path, b"HTTP/1.1"))]
    head += [b": ".join(header) for header in sent.headers.raw]
    return b"\r\n".join([*head, b"", sent.read()])


def port_requests() -> list[bytes]:
    """What Prometheus and a liveness probe send to a connector."""
    return [_bytes("get", path, {}, None) for path in ("/metrics", "/healthz", "/")]
