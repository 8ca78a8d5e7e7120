"""That the rights which docs/security.md tells to grant are enough, and no more than to read."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import ProgrammingError

from hive.reader.engines import unpooled_engine
from tests.query_api.audit.shard_audits import audited, differences
from tests.query_api.folded_world import world
from tests.query_api.thrift.methods.caches import following

DOCS = Path(__file__).parents[3] / "docs" / "security.md"
READER = "rights_reader"


def granted(owner: str) -> list[str]:
    """The statements for PostgreSQL, with a password and roles of ours."""
    [block] = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    postgres, _, _ = block.partition("\n\n")
    statements = [one.partition("--")[0].strip().rstrip(";") for one in postgres.splitlines()]
    roles = {"metatide": READER, "hive": owner}
    return [
        re.sub(r"\b(metatide|hive)\b", lambda found: roles[found[0]], one).replace("…", "secret")
        for one in statements
    ]


def test_a_reader_with_these_rights_loads_and_audits_everything_and_writes_nothing(
    new_database: Callable[[], str],
) -> None:
    url = sa.make_url(new_database())
    assert url.username is not None
    world(url.render_as_string(hide_password=False), events=60, shards=1)
    engine = unpooled_engine(url)
    with engine.begin() as connection:
        for statement in granted(url.username):
            connection.execute(sa.text(statement))
    reader = url.set(username=READER, password="secret").render_as_string(hide_password=False)
    try:
        with following(reader) as cache:
            cache.load()
            audits = audited(reader, cache.source)
        assert sum(one.objects for one in audits) > 20
        assert differences(audits) == []
        own = unpooled_engine(reader)
        with own.connect() as connection, pytest.raises(ProgrammingError, match="denied"):
            connection.execute(sa.text('UPDATE "TBLS" SET "OWNER" = \'mallory\''))
        own.dispose()
    finally:
        with engine.begin() as connection:
            for statement in (f"DROP OWNED BY {READER}", f"DROP ROLE {READER}"):
                connection.execute(sa.text(statement))
        engine.dispose()
