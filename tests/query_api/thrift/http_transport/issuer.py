"""An issuer of tokens, which serves the keys that check them."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from metatide.stack.machine import LOOPBACK
from tests.support.logins.certificates import Authority
from tests.support.worker_log import WorkerLog

ISSUER: Final = "https://issuer.example.com"
AUDIENCE: Final = "metatide"


class Issuer:
    """Signs by keys of its own, the newest by default."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[Any, str]] = {}
        self.body: bytes | None = None
        """What is served in place of the keys."""
        self.fetched = 0

    def add(self, key_id: str, algorithm: str = "ES256") -> None:
        key: Any = ed25519.Ed25519PrivateKey.generate()
        if algorithm.startswith("ES"):
            key = ec.generate_private_key(ec.SECP256R1())
        elif algorithm != "EdDSA":
            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._keys[key_id] = key, algorithm

    def drop(self, key_id: str) -> None:
        del self._keys[key_id]

    def describe(self, key_id: str) -> dict[str, Any]:
        key, algorithm = self._keys[key_id]
        encode = jwt.get_algorithm_by_name(algorithm).to_jwk
        described = json.loads(encode(key.public_key()))
        del_ops = {name: value for name, value in described.items() if name != "key_ops"}
        return {**del_ops, "kid": key_id, "use": "sig", "alg": algorithm}

    def key_set(self) -> bytes:
        return json.dumps({"keys": [self.describe(key_id) for key_id in self._keys]}).encode()

    def token(
        self,
        user: str = "ann",
        *,
        key_id: str | None = None,
        head: dict[str, Any] | None = None,
        lives_s: float = 300,
        **claims: Any,
    ) -> str:
        """A token; a claim that is None is left out."""
        key_id = key_id or list(self._keys)[-1]
        key, algorithm = self._keys[key_id]
        usual = {"sub": user, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time() + lives_s)}
        content = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(content, key, algorithm, headers=head or {"kid": key_id})


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def keep_tokens_out(log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of a token that is issued from now on may be logged."""
    issue = Issuer.token

    def remembered(*arguments: Any, **more: Any) -> str:
        token = issue(*arguments, **more)
        log.keep_out(*token.split("."))
        return token

    monkeypatch.setattr(Issuer, "token", remembered)


@contextmanager
def serving_keys(issuer: Issuer, authority: Authority) -> Iterator[str]:
    """The URL at which an issuer has its keys."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetched += 1
            body = issuer.key_set() if issuer.body is None else issuer.body
            self.send_response(200 if body else 500)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.sign("issuer"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://{LOOPBACK}:{server.server_port}/keys"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
