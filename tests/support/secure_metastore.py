"""A metastore that lets clients in by tickets of Kerberos, and issues delegation tokens."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from metatide.stack.metastore import HIVE_4_2, Metastore, Settings
from metatide.stack.ports import Ports
from tests.support import java_kerberos
from tests.support.kdc import HOST, REALM, SERVICE, Kdc
from tests.support.processes import open_folder, running

_SECURITY: Final = "org.apache.hadoop.hive.metastore.security"
DATABASE_STORE: Final = f"{_SECURITY}.DBTokenStore"
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
    everything = {
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": f"hive/_HOST@{REALM}",
        "metastore.kerberos.keytab.file": str(keytab),
        "metastore.thrift.bind.host": HOST,
        "hive.cluster.delegation.token.store.class": DATABASE_STORE,
        **(properties or {}),
    }
    classes = java_kerberos.classes()
    release = replace(HIVE_4_2, class_path=lambda: f"{classes}:{HIVE_4_2.class_path()}")
    options = (*java_kerberos.OPTIONS, f"-Djava.security.krb5.conf={kdc.config}")
    with open_folder() as folder:
        own = folder / "metastore"
        own.mkdir()
        _write_core_site(own, {"hadoop.security.authentication": "kerberos", **(core or {})})
        metastore = Metastore(
            own,
            Ports(folder / "ports.json"),
            Settings(sa.make_url(database_url), folder / "warehouse", properties=everything),
            release=release,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_TOOL_OPTIONS", " ".join(options))
            with running(metastore, folder / "metastore.log"):
                yield f"thrift://{HOST}:{metastore.address.rpartition(':')[2]}"


def _write_core_site(folder: Path, properties: Mapping[str, str]) -> None:
    lines = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    text = "\n".join(("<configuration>", *lines, "</configuration>\n"))
    (folder / "core-site.xml").write_text(text)
