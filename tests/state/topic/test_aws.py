"""What is signed for AWS MSK, checked as AWS describes the signature (version 4)."""

import base64
import hashlib
import hmac
import sys
import time
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from hive.errors import InputError
from state.topic.aws import signed_tokens
from tests.support.locked_packages import package_folder

REGION, KEY_ID, KEY = "eu-central-1", "AKIAEXAMPLE", "a secret of the tests"


def by_key(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(query: dict[str, str], host: str) -> str:
    """The signature that AWS expects of a signed URL."""
    day, *scope = query["X-Amz-Credential"].split("/")[1:]
    listed = "&".join(f"{name}={quote(query[name], safe='')}" for name in sorted(query))
    nothing = hashlib.sha256(b"").hexdigest()
    request = f"GET\n/\n{listed}\nhost:{host}\n\nhost\n{nothing}"
    hashed = hashlib.sha256(request.encode()).hexdigest()
    signed = f"AWS4-HMAC-SHA256\n{query['X-Amz-Date']}\n{'/'.join([day, *scope])}\n{hashed}"
    key = by_key(f"AWS4{KEY}".encode(), day)
    for part in scope:
        key = by_key(key, part)
    return by_key(key, signed).hex()


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(InputError, match=r"metatide\[msk\]"):
        signed_tokens(REGION)


def test_a_token_is_a_signed_request_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(package_folder("msk", 1))])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    token, until_s = signed_tokens(REGION)(None)
    assert time.time() < until_s <= time.time() + 900
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert url.netloc == f"kafka.{REGION}.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].split("/")[0] == KEY_ID
    assert KEY not in url.query
    # It is added to what is signed.
    del query["User-Agent"]
    assert query.pop("X-Amz-Signature") == signature(query, url.netloc)
