"""Logins at a real PostgreSQL by tickets of Kerberos, with the library of psycopg's wheel."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hive.reader.engines import open_engine
from metatide.config import load
from metatide.doctor import Status, Target, database
from tests.support.databases import stock_postgres
from tests.support.logins.kdc import HOST, REALM, Kdc, kdc
from tests.support.processes import open_folder

pytestmark = [pytest.mark.logins, pytest.mark.stock]
USER = "metatide"
HBA = f"""\
hostgssenc all all all gss include_realm=0 krb_realm={REALM}
host all all all reject
"""


class Site(NamedTuple):
    """A server that lets in by tickets alone, over connections that they encrypt."""

    url: sa.URL
    realm: Kdc

    def full_url(self) -> str:
        url = self.url.set(host=HOST, username=USER)._replace(password=None)
        url = url.update_query_dict({"gssencmode": "require"})
        environ = {"METATIDE_DATABASE_URL": url.render_as_string()}
        full_url = load(environ=environ).config.database.full_url
        assert full_url is not None
        return full_url

    def user(self) -> str:
        """The user who is logged in, as the server knows it."""
        engine = open_engine(self.full_url(), poolclass=sa.NullPool)
        with engine.connect() as connection:
            statement = "SELECT principal FROM pg_stat_gssapi WHERE pid = pg_backend_pid()"
            [principal] = connection.execute(sa.text(statement)).one()
            return str(principal)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_folder() as folder, kdc(folder) as realm, stock_postgres.local_server() as url:
        keytab = Path(shutil.copy(realm.keytab(f"postgres/{HOST}@{REALM}"), folder / "postgres"))
        shutil.chown(keytab, "postgres")
        engine = open_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            [data] = connection.execute(sa.text("SHOW data_directory")).one()
            Path(data, "pg_hba.conf").write_text(HBA)
            connection.execute(sa.text(f"ALTER SYSTEM SET krb_server_keyfile = '{keytab}'"))
            connection.execute(sa.text("SELECT pg_reload_conf()"))
        yield Site(url, realm)


@pytest.fixture
def keytab(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The keytab that the process logs in by, as a unit of systemd names it."""
    monkeypatch.setenv("KRB5_CONFIG", str(site.realm.config))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    own = site.realm.keytab(f"{USER}@{REALM}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{own}")
    return own


def test_a_keytab_logs_in(site: Site, keytab: Path) -> None:
    assert site.user() == f"{USER}@{REALM}"
    assert database.reachable(Target(None, "any", 1, site.full_url(), None)).status is Status.OK


@pytest.mark.usefixtures("keytab")
def test_another_principal_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = site.realm.keytab(f"other@{REALM}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{other}")
    with pytest.raises(OperationalError, match="GSSAPI authentication failed"):
        site.user()


def test_keys_that_changed_are_refused_until_the_keytab_has_them(site: Site, keytab: Path) -> None:
    old = keytab.read_bytes()
    new = site.realm.keytab(f"{USER}@{REALM}").read_bytes()
    keytab.write_bytes(old)
    with pytest.raises(OperationalError, match=r"pg_hba\.conf rejects|GSSAPI"):
        site.user()
    keytab.write_bytes(new)
    assert site.user() == f"{USER}@{REALM}"
