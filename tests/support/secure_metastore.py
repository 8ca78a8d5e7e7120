"""A metastore that lets clients in by tickets of Kerberos, and issues delegation tokens."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from hive import listener
from hive.schema import Version
from metatide.stack.java import find_java
from metatide.stack.metastore import Metastore, Release, Settings
from metatide.stack.ports import Ports
from tests.support.kdc import HOST, REALM, SERVICE, Kdc
from tests.support.processes import open_folder, running
from tests.support.releases import class_path

_RELEASE: Final = Release(Version.V4_0, lambda: class_path("4.0.1"), find_java)
"""The newest that runs on the system's Java; that of the environment has no Kerberos for SASL."""
_STORE: Final = "org.apache.hadoop.hive.metastore.security.DBTokenStore"
_CORE_SITE: Final = """\
<configuration>
  <property><name>hadoop.security.authentication</name><value>kerberos</value></property>
</configuration>
"""


@contextmanager
def secure_metastore(kdc: Kdc, keytab: Path, database_url: str) -> Iterator[str]:
    """Its address; it ends with the block."""
    properties = {
        # It is of a release that needs the newer Java.
        listener.TRANSACTIONAL: "",
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": f"hive/_HOST@{REALM}",
        "metastore.kerberos.keytab.file": str(keytab),
        "metastore.thrift.bind.host": HOST,
        "hive.cluster.delegation.token.store.class": _STORE,
    }
    assert SERVICE.startswith(f"hive/{HOST}@")
    with open_folder() as folder:
        own = folder / "metastore"
        own.mkdir()
        (own / "core-site.xml").write_text(_CORE_SITE)
        url = sa.make_url(database_url)
        metastore = Metastore(
            own,
            Ports(folder / "ports.json"),
            Settings(url, folder / "warehouse", properties=properties),
            release=_RELEASE,
        )
        os.environ["JAVA_TOOL_OPTIONS"] = f"-Djava.security.krb5.conf={kdc.config}"
        try:
            with running(metastore, folder / "metastore.log"):
                yield f"thrift://{HOST}:{metastore.address.rpartition(':')[2]}"
        finally:
            del os.environ["JAVA_TOOL_OPTIONS"]
