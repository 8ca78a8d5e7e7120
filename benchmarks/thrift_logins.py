"""Logins at the Thrift server, and calls after them, beside a client that needn't log in; the same
over HTTP, where each call shows its credentials.

A real directory and a real key distribution centre run, as for the tests marked `logins`. One
client makes calls whose replies have 8 KB; others log in one after the other, each on a new
connection. Each kind of clients has a server of its own, and its turn in each round.
`connection_cpu_us` is the processor time of the process that answers, for a connection with its
login and one call, `call_cpu_us` that for a call. Unlike the time that passes, they hardly depend
on what else the machine does.
"""

import asyncio
import base64
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil
import uvloop

from benchmarks.report import cpu_s, print_line
from metatide.certificates import server_tls
from metatide.config import load
from metatide.stack.machine import LOOPBACK
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.backend import Backend
from query_api.latest.log_end import LogEnd
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.server import ThriftServer
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.query_api.thrift.http_transport.clients import SPNEGO, HttpClient, basic, call, negotiate
from tests.query_api.thrift.http_transport.issuer import Issuer, bearer
from tests.query_api.thrift.sasl import clients
from tests.query_api.thrift.serving import Client, ScriptedMethods, answer
from tests.support.logins.certificates import Authority
from tests.support.logins.directory import USER_DN, directory
from tests.support.logins.kdc import HOST, REALM, SERVICE, kdc
from tests.support.logins.tickets import clients_of, load_gssapi, session_with
from tests.support.processes import open_folder

LOGINS: Final = 300
CALLS: Final = 15_000
ROUNDS: Final = 5
REPLY_BYTES: Final = 8_000
PASSWORD: Final = "of the benchmark"
# A token that ends in the year 2255, of the owner `ann`.
_TOKEN: Final = clients.Token("", b"\0\x03ann\x03ann\0\x01\x01\x01\x01", b"p" * 20)
_STORED: Final = base64.urlsafe_b64encode(b"\x14" + b"p" * 20 + (9 * 10**12).to_bytes(8)).decode()

LogIn = Callable[[Client], Awaitable[object]]
Credentials = Callable[[], dict[str, str]]


class Kind(NamedTuple):
    """A kind of clients, and the settings of the server that they need."""

    name: str
    environment: dict[str, str]
    log_in: LogIn


class HttpKind(NamedTuple):
    """A kind of clients of HTTP."""

    name: str
    environment: dict[str, str]
    credentials: Credentials
    """What a request shows."""
    calls: int = CALLS


class HttpCaller:
    """A client of HTTP."""

    def __init__(self, client: HttpClient, credentials: Credentials) -> None:
        self._client = client
        self._credentials = credentials

    async def call(self, method: str) -> bytes:
        said = await self._client.ask(call(method, headers=self._credentials()))
        assert said.status == 200, said.body
        return said.body

    async def close(self) -> None:
        self._client.close()


async def no_login(_: Client) -> None:
    """Does nothing."""


def serve() -> None:
    """Serves by the configuration in the environment."""
    load_gssapi()
    uvloop.run(_serve())


async def _serve() -> None:
    thrift = load().config.thrift
    tls = server_tls("thrift", thrift)
    logins = mechanisms(thrift, HOST, lambda _: _STORED)
    settings = thrift_settings(thrift, tls, logins)
    methods = ScriptedMethods(get_table=lambda _: answer("x" * REPLY_BYTES))
    backend = Backend(MemoryShards(MemoryShard()), EmptyDatabase(LogEnd(0, 5, [])))
    server = ThriftServer(methods, backend, settings)
    ports = await server.start(LOOPBACK, 0), await server.start_http(LOOPBACK, 0)
    print(*ports, flush=True)
    await asyncio.Event().wait()


@asynccontextmanager
async def serving(kind: Kind | HttpKind) -> AsyncIterator[tuple[int, psutil.Process]]:
    command = [sys.executable, "-m", "benchmarks.thrift_logins", "serve"]
    environment = {**os.environ, **kind.environment}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            binary, http = map(int, process.stdout.readline().split())
            yield (http if isinstance(kind, HttpKind) else binary), psutil.Process(process.pid)
        finally:
            process.kill()


class Stand(NamedTuple):
    """A server, and a client of one kind that has logged in there."""

    kind: Kind | HttpKind
    process: psutil.Process
    connect: Callable[[], Awaitable[Client | HttpCaller]]
    client: Client | HttpCaller

    async def connection_us(self) -> float:
        begun = cpu_s(self.process)
        for _ in range(LOGINS):
            await (await self.connect()).close()
        return (cpu_s(self.process) - begun) / LOGINS * 1e6

    async def call_us(self) -> float:
        calls = self.kind.calls if isinstance(self.kind, HttpKind) else CALLS
        begun = cpu_s(self.process)
        for _ in range(calls):
            await self.client.call("get_table")
        return (cpu_s(self.process) - begun) / calls * 1e6


@asynccontextmanager
async def stand_of(kind: Kind | HttpKind, trusted: ssl.SSLContext) -> AsyncIterator[Stand]:
    async with serving(kind) as (port, process):
        tls = trusted if "METATIDE_THRIFT_TLS_KEY" in kind.environment else None

        async def connected() -> Client | HttpCaller:
            streams = await asyncio.open_connection(LOOPBACK, port, ssl=tls)
            client: Client | HttpCaller
            if isinstance(kind, HttpKind):
                client = HttpCaller(HttpClient(*streams), kind.credentials)
            else:
                client = Client(*streams)
                await kind.log_in(client)
            assert await client.call("get_table") is not None
            return client

        yield Stand(kind, process, connected, await connected())


async def compare(kinds: list[Kind | HttpKind], trusted: ssl.SSLContext) -> None:
    """Measures all kinds in turns, so that what else the machine does disturbs all alike."""
    async with AsyncExitStack() as stack:
        stands = [await stack.enter_async_context(stand_of(kind, trusted)) for kind in kinds]
        for _ in range(ROUNDS):
            for stand in stands:
                # Connections that have ended are forgotten later, which calls would be charged for.
                call_us, connection_us = await stand.call_us(), await stand.connection_us()
                print_line(
                    clients=stand.kind.name,
                    connection_cpu_us=round(connection_us),
                    call_cpu_us=round(call_us, 1),
                )


def variables(**values: object) -> dict[str, str]:
    return {f"METATIDE_THRIFT_{name}": str(value) for name, value in values.items()}


def kinds(folder: Path, stack: ExitStack, authority: Authority) -> list[Kind | HttpKind]:
    users = stack.enter_context(directory(folder / "directory", authority, {"ann": PASSWORD}))
    realm = stack.enter_context(kdc(folder))
    stack.enter_context(clients_of(realm))
    ann, service = realm.keytab("ann"), realm.keytab(SERVICE, f"HTTP/{HOST}@{REALM}")
    signed = authority.sign("worker")
    over_tls = variables(TLS_CERTIFICATE=signed.certificate, TLS_KEY=signed.key)
    by_ldap = variables(LDAP_URL=users.address, LDAP_USER_DN=USER_DN, LDAP_CA=authority.certificate)
    by_ticket = variables(
        KERBEROS_PRINCIPAL=f"hive/_HOST@{REALM}", KERBEROS_KEYTAB=service, DELEGATION_TOKENS="true"
    )

    over_http = over_tls | variables(PORT=0, HTTP_PORT=0)
    issuer, keys = Issuer(), folder / "keys.json"
    issuer.add("first", "RS256")
    keys.write_bytes(issuer.key_set())
    token = bearer(issuer.token(lives_s=3600))

    def new_ticket() -> dict[str, str]:
        return negotiate(session_with(ann, f"ann@{REALM}", "HTTP", SPNEGO).step())

    def ticket(protection: int) -> LogIn:
        async def log_in(client: Client) -> None:
            said = await clients.log_in_by_ticket(
                client, session_with(ann, f"ann@{REALM}"), protection
            )
            assert said.status == Status.COMPLETE

        return log_in

    return [
        Kind("no login", {}, no_login),
        Kind("GSSAPI, auth", by_ticket, ticket(clients.AUTHENTICATION)),
        Kind("GSSAPI, auth-int", by_ticket, ticket(clients.INTEGRITY)),
        Kind("GSSAPI, auth-conf", by_ticket, ticket(clients.PRIVACY)),
        Kind("DIGEST-MD5", by_ticket, lambda client: clients.log_in_by_token(client, _TOKEN)),
        Kind("no login, TLS", over_tls, no_login),
        Kind(
            "PLAIN, TLS",
            {**over_tls, **by_ldap},
            lambda client: clients.log_in(client, "ann", PASSWORD),
        ),
        HttpKind("HTTP, no login", {}, dict),
        HttpKind("HTTP, no login, TLS", over_tls, dict),
        HttpKind("HTTP, Basic, TLS", over_http | by_ldap, lambda: basic("ann", PASSWORD)),
        HttpKind("HTTP, JWT, TLS", over_http | variables(JWT_KEYS=keys), lambda: token),
        HttpKind(
            "HTTP, SPNEGO, TLS",
            over_http | by_ticket | variables(DELEGATION_TOKENS="false"),
            new_ticket,
            calls=LOGINS,
        ),
    ]


def main() -> None:
    with open_folder() as folder, ExitStack() as stack:
        authority = Authority(folder / "authority")
        uvloop.run(compare(kinds(folder, stack, authority), authority.trusted))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    else:
        main()
