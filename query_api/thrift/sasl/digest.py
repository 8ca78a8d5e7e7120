"""SASL's DIGEST-MD5 (RFC 2831) as far as Hadoop's delegation tokens need it, for servers and for
clients; without protection of what follows.
"""

import re
from collections.abc import Mapping
from hashlib import md5
from hmac import compare_digest
from typing import Final, NamedTuple

from hive.errors import RefusedLoginError, UpstreamError

NAME: Final = "DIGEST-MD5"
REALM: Final = "default"
"""The realm that Hadoop's clients and servers agree on."""
RESPONSE_BYTES_MAX: Final = 8192
_COUNT: Final = "00000001"
_DIRECTIVE: Final = re.compile(
    r"""
    [ \t\r\n]* ([a-z-]{1,32}) [ \t\r\n]* = [ \t\r\n]*
    (?: "((?:[^"\\]|\\.)*)" | ([^\s",;]+) )
    [ \t\r\n]* (?:,|\Z)
    """,
    re.ASCII | re.DOTALL | re.VERBOSE,
)
"""A name and its value. Space is the four characters that the RFC and Java count as such."""
_RESPONSE: Final = re.compile("[0-9a-f]{32}", re.ASCII)


class Digest(NamedTuple):
    """A client's response to a challenge."""

    user: str
    nonce: str
    client_nonce: str
    uri: str
    response: str

    def is_of(self, password: str) -> bool:
        """Whether the client knows this password."""
        expected = self._value(password, "AUTHENTICATE")
        return compare_digest(expected.encode(), self.response.encode())

    def proof(self, password: str) -> bytes:
        """What proves to the client that the server knows the password."""
        return f"rspauth={self._value(password, '')}".encode()

    def text(self, password: str) -> bytes:
        """The response of a client that knows this password."""
        return self._replace(response=self._value(password, "AUTHENTICATE")).repeated()

    def repeated(self) -> bytes:
        """This response in the one form that every server reads alike."""
        return (
            f"charset=utf-8,username={_quoted(self.user)},realm={_quoted(REALM)},"
            f"nonce={_quoted(self.nonce)},nc={_COUNT},cnonce={_quoted(self.client_nonce)},"
            f"digest-uri={_quoted(self.uri)},qop=auth,response={self.response}"
        ).encode()

    def _value(self, password: str, method: str) -> str:
        secret = _hash(f"{self.user}:{REALM}:{password}".encode())
        nonces = f":{self.nonce}:{self.client_nonce}".encode()
        first = _hash(secret + nonces).hex()
        second = _hash(f"{method}:{self.uri}".encode()).hex()
        parts = first, self.nonce, _COUNT, self.client_nonce, "auth", second
        return _hash(":".join(parts).encode()).hex()


def challenge(nonce: str) -> bytes:
    """The first challenge."""
    return f'realm="{REALM}",nonce="{nonce}",qop="auth",charset=utf-8,algorithm=md5-sess'.encode()


def nonce_of(challenge: bytes) -> str:
    """The nonce in a metastore's challenge. Raises UpstreamError if none can respond to it here."""
    try:
        fields = _fields(challenge)
    except RefusedLoginError:
        raise UpstreamError("its challenge of DIGEST-MD5 can't be read") from None
    if "auth" not in fields.get("qop", "auth").split(","):
        raise UpstreamError(
            "it wants all that follows a login by delegation token protected, which only TLS does "
            "here: add authentication to its hadoop.rpc.protection, and use upstream.tls"
        )
    if not fields.get("nonce") or fields.get("realm") != REALM:
        raise UpstreamError("its challenge of DIGEST-MD5 isn't one of a metastore")
    return fields["nonce"]


def read_digest(response: bytes, nonce: str) -> Digest:
    """The response to the challenge with this nonce. Raises RefusedLoginError if it is none."""
    fields = _fields(response)
    expected = {"realm": REALM, "nonce": nonce, "nc": _COUNT, "qop": "auth"}
    for name, value in expected.items():
        if fields.get(name, "auth" if name == "qop" else "") != value:
            raise RefusedLoginError(f"DIGEST-MD5: the response has another {name} than expected")
    missing = [
        name for name in ("username", "cnonce", "digest-uri", "response") if not fields.get(name)
    ]
    if missing:
        raise RefusedLoginError(f"DIGEST-MD5: the response lacks {', '.join(missing)}")
    if not _RESPONSE.fullmatch(fields["response"]):
        raise RefusedLoginError("DIGEST-MD5: the response's own value isn't 32 hexadecimal digits")
    if not fields["digest-uri"].endswith(f"/{REALM}"):
        raise RefusedLoginError("DIGEST-MD5: the response is for another service")
    if fields.get("authzid"):
        raise RefusedLoginError("a user can't log in for another one by DIGEST-MD5")
    return Digest(
        fields["username"], nonce, fields["cnonce"], fields["digest-uri"], fields["response"]
    )


def _fields(response: bytes) -> Mapping[str, str]:
    unreadable = RefusedLoginError("DIGEST-MD5: the response can't be read")
    if len(response) > RESPONSE_BYTES_MAX:
        raise unreadable
    try:
        text = response.decode()
    except UnicodeDecodeError:
        raise unreadable from None
    fields: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if match is None or match[1] in fields:
            raise unreadable
        quoted = match[2]
        fields[match[1]] = match[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = match.end()
    return fields


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def _hash(data: bytes) -> bytes:
    return md5(data, usedforsecurity=False).digest()
