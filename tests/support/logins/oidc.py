"""An issuer of tokens to clients that know their secret, as OpenID Connect describes it."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from metatide.stack.machine import LOOPBACK
from tests.support.logins.openssl import openssl

CLIENT, SECRET, AUDIENCE = "worker", "its-secret", "kafka"
LIFE_S: Final = 300
_KEY_ID = "key-1"


class Issuer:
    """Signs tokens, and tells by which key."""

    def __init__(self, folder: Path, port: int) -> None:
        self.token_url = f"http://{LOOPBACK}:{port}/token"
        self.keys_url = f"http://{LOOPBACK}:{port}/keys"
        self.audience = AUDIENCE
        self.key_id = _KEY_ID
        """The key by which tokens say that they are signed."""
        self.tokens: list[str] = []
        """Those that it has issued."""
        self._key = folder / "issuer.pem"
        openssl("genpkey", "-algorithm", "RSA", "-out", str(self._key))

    def keys(self) -> dict[str, Any]:
        modulus = openssl("rsa", "-in", str(self._key), "-noout", "-modulus").decode().strip()
        number = bytes.fromhex(modulus.partition("=")[2])
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID, "e": "AQAB"}
        return {"keys": [{**key, "n": _text(number)}]}

    def token(self, client: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {"sub": client, "aud": self.audience, "iat": now, "exp": now + LIFE_S}
        head = {"alg": "RS256", "kid": self.key_id, "typ": "JWT"}
        signed = f"{_text(json.dumps(head).encode())}.{_text(json.dumps(claims).encode())}"
        signature = openssl("dgst", "-sha256", "-sign", str(self._key), data=signed.encode())
        token = f"{signed}.{_text(signature)}"
        self.tokens.append(token)
        return {"access_token": token, "token_type": "Bearer", "expires_in": LIFE_S}


@contextmanager
def issuing(folder: Path) -> Iterator[Issuer]:
    """An issuer that listens until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, issuer.keys())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            login = self.headers.get("authorization", "").removeprefix("Basic ")
            may = base64.b64decode(login).decode() == f"{CLIENT}:{SECRET}"
            if may and form.get("grant_type") == ["client_credentials"]:
                self._send(200, issuer.token(CLIENT))
            else:
                self._send(401, {"error": "invalid_client"})

        def log_message(self, *_: object) -> None:
            pass

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    issuer = Issuer(folder, server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
