"""DIGEST-MD5's responses: those of its RFC, and those of others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import RefusedLoginError, UpstreamError
from query_api.thrift.sasl import digest
from query_api.thrift.sasl.digest import Digest, challenge, nonce_of, read_digest

FIELDS = {
    "username": '"dG9rZW4="',
    "realm": '"default"',
    "nonce": '"n"',
    "nc": "00000001",
    "cnonce": '"c"',
    "digest-uri": '"null/default"',
    "qop": "auth",
    "response": "0" * 32,
}


def response(**changed: str | None) -> bytes:
    fields = {**FIELDS, **{name.replace("_", "-"): value for name, value in changed.items()}}
    return ",".join(f"{name}={value}" for name, value in fields.items() if value).encode()


def test_the_example_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "REALM", "elwood.innosoft.com")
    example = Digest(
        "chris",
        "OA6MG9tEQGm2hh",
        "OA6MHXh6VqTrRk",
        "imap/elwood.innosoft.com",
        "d388dad90d4bbd760a152321f2143af7",
    )
    assert example.is_of("secret")
    assert not example.is_of("Secret")
    assert example.proof("secret") == b"rspauth=ea40f60335c427b5527b84dbabcdfffd"


def test_a_response_is_read_with_its_quotes() -> None:
    escaped = response(cnonce='"a\\\\b\\"c"', charset="utf-8")
    assert read_digest(escaped, "n").client_nonce == 'a\\b"c'
    assert read_digest(response(qop=None), "n") == read_digest(response(), "n")
    assert b'nonce="x"' in challenge("x")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"nonce": '"other"'}, "another nonce than expected"),
        ({"nc": "00000002"}, "another nc than expected"),
        ({"realm": '"other"'}, "another realm than expected"),
        ({"qop": "auth-conf"}, "another qop than expected"),
        ({"username": None}, "lacks username"),
        ({"cnonce": '""', "response": None}, "lacks cnonce, response"),
        ({"digest_uri": '"imap/other"'}, "for another service"),
        ({"authzid": '"root"'}, "can't log in for another one"),
        ({"cnonce": '"unended'}, "can't be read"),
        ({"cnonce": '"c",cnonce="d"'}, "can't be read"),
        ({"cnonce": f'"{"x" * 9000}"'}, "can't be read"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, str | None], why: str) -> None:
    with pytest.raises(RefusedLoginError, match=re.escape(why)):
        read_digest(response(**changed), "n")


@given(st.binary(max_size=500))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RefusedLoginError):
        read_digest(data, "n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('realm="unended', "can't be read"),
        ('realm="default",nonce="n",qop="auth-int,auth-conf"', "use upstream.tls"),
        ('realm="default",qop="auth"', "isn't one of a metastore"),
        ('realm="other",nonce="n",qop="auth"', "isn't one of a metastore"),
    ],
)
def test_what_is_wrong_with_a_metastores_challenge_is_named(text: str, why: str) -> None:
    assert nonce_of(challenge("n")) == nonce_of(b'realm="default",nonce="n"') == "n"
    with pytest.raises(UpstreamError, match=re.escape(why)):
        nonce_of(text.encode())
