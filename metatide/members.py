"""The workers of a group, as Kafka knows them, and an HTTP client for them."""

import asyncio
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from functools import cache
from typing import Final

import httpx
from confluent_kafka import KafkaError, KafkaException

from hive.errors import InputError, MachineError, UnprovedError
from hive.names import TableName, default_catalog
from metatide.certificates import trusted
from metatide.config import Config
from metatide.operator_proof import OperatorProof, ProvedTransport, holders_of, worker_address
from metatide.stack.running import workers_secret
from query_api.http.forward import Forwarder
from query_api.peers import Peers
from state.topic import Topic
from state.topic.settings import REQUEST_TIMEOUT_S, reason

PROOF_PATH: Final = "/healthz"
_CA: Final = "reads.tls_ca"
_MOVING: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""A broker becomes the coordinator of the group, as the first time that anybody asks for one."""
_LOOK_S: Final = 0.1


def members(topic: Topic, group: str) -> Iterator[tuple[str, str]]:
    """The members' names and addresses, which are in their Kafka client ids."""
    for client_id in sorted(_client_ids(topic, group)):
        name, _, address = client_id.partition("@")
        yield name, address


def _client_ids(topic: Topic, group: str) -> list[str]:
    admin = topic.admin()
    deadline = time.monotonic() + REQUEST_TIMEOUT_S
    while True:
        [future] = admin.describe_consumer_groups(
            [group], request_timeout=REQUEST_TIMEOUT_S
        ).values()
        try:
            return [member.client_id for member in future.result().members]
        except KafkaException as error:
            if error.args[0].code() not in _MOVING or time.monotonic() > deadline:
                raise MachineError(
                    f"Kafka at {topic.servers} doesn't answer: {reason(error)}; check --kafka and "
                    "the brokers"
                ) from error
        time.sleep(_LOOK_S)


def scheme(config: Config) -> str:
    """The URL scheme of workers."""
    return "http" if config.reads.tls_certificate is None else "https"


def worker_urls(config: Config, topic: Topic, group: str) -> list[str]:
    """The URLs of all workers of a group; raises an error if there are none."""
    urls = [f"{scheme(config)}://{address}" for _, address in members(topic, group)]
    if not urls:
        raise InputError(f"group {group} has no members: start a worker (metatide work)")
    return urls


class WorkerToken(httpx.Auth):
    """Sends a token to those who prove that they are workers.

    The addresses come from the consumer group, and whoever may join it may name one. A worker
    proves itself by the workers' secret; where that isn't known here, by a certificate that
    `reads.tls_ca` has signed.
    """

    def __init__(self, token: str, config: Config) -> None:
        self._token = token
        self._ca = config.reads.tls_ca
        self._secret = workers_secret(config)
        self._is_worker = cache(self._proves_itself)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        url = f"{request.url.scheme}://{worker_address(request.url)}"
        if not self._is_worker(url):
            # Without the secret it depends on the settings here alone.
            kind = InputError if self._secret is None else UnprovedError
            raise kind(
                f"{url} doesn't prove that it is a worker, so it isn't sent client.token: set "
                "worker.secret_file to the workers' secret, here as for workers"
            )
        request.headers["authorization"] = f"Bearer {self._token}"
        yield request

    def _proves_itself(self, url: str) -> bool:
        if self._secret is None:
            return self._ca is not None and url.startswith("https:")
        return asyncio.run(self._answers(url, holders_of(self._secret)))

    async def _answers(self, url: str, peers: Peers) -> bool:
        forwarder = Forwarder(trusted(self._ca, _CA) if self._ca else None, peers)
        try:
            return await forwarder.ask(url, PROOF_PATH) is not None
        finally:
            await forwarder.close()


def worker_client(config: Config, timeout_s: float) -> httpx.Client:
    """A client that trusts the workers' certificates, and is let in by the token of `client.token`,
    without one by the workers' secret.
    """
    ca, token, secret = config.reads.tls_ca, config.client.token, workers_secret(config)
    transport: httpx.BaseTransport
    transport = httpx.HTTPTransport(verify=trusted(ca, _CA) if ca else True, trust_env=False)
    auth: httpx.Auth | None = None
    if token is not None:
        auth = WorkerToken(token, config)
    elif secret is not None:
        auth = proof = OperatorProof(secret)
        transport = ProvedTransport(transport, proof)
    return httpx.Client(timeout=timeout_s, trust_env=False, transport=transport, auth=auth)


def require_tables(client: httpx.Client, url: str, tables: Collection[TableName]) -> None:
    """Raises InputError if a table doesn't exist in the metastore. Where that can't be found out,
    nothing is said.
    """
    answer = client.post(
        f"{url}/v1/tables",
        json={"names": [str(name) for name in tables]},
        headers={"metatide-consistency": "latest"},
    )
    if not answer.is_success:
        return
    existing = {
        TableName(table.get("catName") or default_catalog(), table["dbName"], table["tableName"])
        for table in answer.json()["tables"]
    }
    if absent := [name for name in tables if name not in existing]:
        raise InputError(none_of(absent))


def none_of(absent: Iterable[TableName]) -> str:
    """That these tables don't exist, in words."""
    return f"there is no table {' and no table '.join(map(str, absent))}"


def json_of(answer: httpx.Response) -> bytes:
    """The body of a response; raises the error if it is a problem."""
    if answer.is_success:
        return answer.content
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason_phrase
    kind = InputError if answer.is_client_error else MachineError
    raise kind(f"{answer.url.copy_with(query=None)}: {detail}")
