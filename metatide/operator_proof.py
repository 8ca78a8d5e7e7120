"""Proves the workers' secret to workers, as they do among themselves, so that they take orders."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable
from functools import cached_property
from pathlib import Path
from typing import cast

import httpx

from hive.errors import CutOffError, InputError, UnprovedError
from metatide.advertised import joined
from query_api.http.proof import PROOF, PROVED, ProvedReader, nonce_of, proof_header
from query_api.peers import Peers, SecretFile

_PORTS = {"http": 80, "https": 443}
_PROOF = PROOF.decode()
_PROVED = PROVED.decode()


def worker_address(url: httpx.URL) -> str:
    """The HOST:PORT in a worker's URL, as the worker tells it."""
    return joined(url.host, url.port or _PORTS[url.scheme])


def holders_of(secret: Path) -> Peers:
    """Those who have this secret."""
    try:
        return Peers(SecretFile(secret))
    except OSError as error:
        raise InputError(f"{secret} can't be read: {error.strerror}") from error


class OperatorProof(httpx.Auth):
    """Signs requests by the workers' secret."""

    requires_request_body = True

    def __init__(self, secret: Path) -> None:
        self._secret = secret

    @cached_property
    def peers(self) -> Peers:
        # A caller that asks nothing that needs a proof may not be allowed to read the secret.
        return holders_of(self._secret)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        address, target = worker_address(request.url), request.url.raw_path
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        body = request.content
        for name, value in proof_header(self.peers, address, request.method, target, headers, body):
            request.headers[name.decode()] = value.decode()
        yield request


class ProvedTransport(httpx.BaseTransport):
    """Takes answers out of the frames that prove them. Raises UnprovedError for what proves nothing
    where the question proved the secret: the addresses come from the consumer group, and whoever
    may join it may answer. A worker that fails or ends meanwhile proves nothing either, but may
    have done what it was asked: that is no answer (httpx.RemoteProtocolError).
    """

    def __init__(self, transport: httpx.BaseTransport, proof: OperatorProof) -> None:
        self._transport = transport
        self._proof = proof

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._transport.handle_request(request)
        sent = request.headers.get(_PROOF)
        if sent is None:
            return response
        nonce = nonce_of([(PROOF, sent.encode())])
        try:
            if response.headers.get("content-type") != _PROVED:
                proves_nothing = f"an answer of status {response.status_code} proves nothing"
                if response.is_server_error:
                    raise httpx.RemoteProtocolError(proves_nothing, request=request)
                raise UnprovedError(proves_nothing)
            stream = cast(httpx.SyncByteStream, response.stream)
            return asyncio.run(_unframed(self._proof.peers, nonce, stream))
        except CutOffError as error:
            raise httpx.RemoteProtocolError(str(error), request=request) from error
        except UnprovedError as error:
            raise UnprovedError(
                f"{worker_address(request.url)} doesn't prove that it is a worker: {error}. If it "
                "is one, give it and this command the same secret (worker.secret_file) and time"
            ) from error
        finally:
            response.close()

    def close(self) -> None:
        self._transport.close()


async def _unframed(peers: Peers, nonce: bytes, framed: Iterable[bytes]) -> httpx.Response:
    """Reads no more than what proves itself, as it comes and without unpacking it: whoever takes
    itself for a worker could send without end."""

    async def blocks() -> AsyncIterator[bytes]:
        for block in framed:
            yield block

    reader = ProvedReader(peers, nonce, blocks())
    head = await reader.head()
    body = b"".join([piece.data async for piece in reader.body()])
    return httpx.Response(head.status, headers=head.headers, content=body)
