"""Which parts of URLs are shown."""

import re
from pathlib import Path

import pytest

from hive.urls import masked

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://hive:tide@db:5432/m", "postgresql://hive:***@db:5432/m"),
        ("postgresql://hive:ti/de?@d@db/m", "postgresql://hive:***@db/m"),
        ("postgresql://:tide@db/m", "postgresql://:***@db/m"),
        ("postgresql://h/m?password=tide&sslmode=on", "postgresql://h/m?password=***&sslmode=on"),
        ("postgresql://h/m?a=b&sslpassword=tide", "postgresql://h/m?a=b&sslpassword=***"),
        ("postgresql://h/m?pass%77ord=ti%26de", "postgresql://h/m?pass%77ord=***"),
        ("mysql://h/m?passwd=tide;Secret=tide", "mysql://h/m?passwd=***;Secret=***"),
        ("s3://AKID:ti/de+@bucket/images", "s3://AKID:***@bucket/images"),
        ("simplecache::s3://AKID:tide@bucket", "simplecache::s3://AKID:***@bucket"),
        ("AKID:tide@bucket/manifests/1.json", "AKID:***@bucket/manifests/1.json"),
        ("abfs://box?sig=tide&account_key=tide", "abfs://box?sig=***&account_key=***"),
        ("no bucket at s3://A:tide@b: 403", "no bucket at s3://A:***@b: 403"),
    ],
)
def test_secrets_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/var/lib/images",
        "postgresql://hive@db:5432/m?sslmode=verify-full&sslkey=/etc/key&passfile=/etc/pass",
        "thrift://a:9083,thrift://b:9083",
        "http://[::1]:8080/v1/tables?db=a%26b",
        "s3://bucket/images",
        "simplecache::s3://bucket/images",
    ],
)
def test_all_else_is_shown(text: str) -> None:
    assert masked(text) == text


def test_urls_of_databases_are_shown_masked() -> None:
    """SQLAlchemy hides a password before the @ only."""
    packages = ("hive", "state", "connectors", "processors", "query_api", "metatide")
    shown = re.compile(r"(\w+\()?[\w.]+\.render_as_string\(\)")
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        for match in shown.finditer(path.read_text())
        if match[1] != "masked("
    ]
    assert wrong == []
