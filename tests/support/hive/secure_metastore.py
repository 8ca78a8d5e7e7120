"""A metastore that lets clients in by tickets of Kerberos, and issues delegation tokens."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from metatide.stack.metastore import Kerberos, Metastore, Settings
from metatide.stack.ports import Ports
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc
from tests.support.processes import open_folder, running

_SECURITY: Final = "org.apache.hadoop.hive.metastore.security"
MEMORY_STORE: Final = f"{_SECURITY}.MemoryTokenStore"
_AUTHORIZATION: Final = "org.apache.hadoop.hive.ql.security.authorization"
STORAGE_BASED: Final = {
    "metastore.pre.event.listeners": f"{_AUTHORIZATION}.AuthorizationPreEventListener",
    "hive.security.metastore.authorization.manager": (
        f"{_AUTHORIZATION}.StorageBasedAuthorizationProvider"
    ),
    "hive.security.metastore.authenticator.manager": (
        "org.apache.hadoop.hive.ql.security.HadoopDefaultMetastoreAuthenticator"
    ),
    "hive.security.metastore.authorization.auth.reads": "true",
}
"""Authorization by who may read and write a database's folder."""


@contextmanager
def secure_metastore(
    kdc: Kdc,
    keytab: Path,
    database_url: str,
    *,
    core: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Its address; it ends with the block. `core` is for Hadoop's core-site.xml."""
    assert SERVICE.startswith(f"hive/{HOST}@")
    kerberos = Kerberos(f"hive/_HOST@{REALM}", keytab, kdc.config, core or {})
    with open_folder() as folder:
        metastore = Metastore(
            folder / "metastore",
            Ports(folder / "ports.json"),
            Settings(
                sa.make_url(database_url),
                folder / "warehouse",
                properties=properties or {},
                host=HOST,
                kerberos=kerberos,
            ),
        )
        with running(metastore, folder / "metastore.log"):
            yield metastore.address
