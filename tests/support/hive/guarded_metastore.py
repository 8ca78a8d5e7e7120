"""Metastores over TLS whose clients show a password or a token."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.metastore import HIVE_4_2, Metastore, Settings
from metatide.stack.ports import Ports
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.directory import SUFFIX, Directory
from tests.support.processes import open_folder, running

_SETS: Final = Path(__file__).parents[1] / "jarsets"


def by_ldap(directory: Directory) -> dict[str, str]:
    """The properties of a metastore that has a directory check passwords."""
    return {
        "metastore.authentication": "LDAP",
        "metastore.authentication.ldap.url": directory.address,
        "metastore.authentication.ldap.userDNPattern": f"uid=%s,{SUFFIX}",
    }


def by_jwt(keys: Path) -> dict[str, str]:
    """Those of one that checks tokens by the keys in a file."""
    return {
        "metastore.server.thrift.transport.mode": "http",
        "metastore.authentication": "JWT",
        "metastore.authentication.jwt.jwks.url": keys.as_uri(),
    }


@contextmanager
def guarded_metastore(
    database_url: str, authority: Authority, properties: Mapping[str, str]
) -> Iterator[str]:
    """Its address; it ends with the block."""
    more = jars.install(JarSet.load("hive-jwt", _SETS), cache_dir() / "jars")
    hive = HIVE_4_2.class_path()
    release = dataclasses.replace(HIVE_4_2, class_path=lambda: f"{hive}:{more}/*")
    tls = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": str(authority.java_key(authority.sign("metastore"))),
        "metastore.keystore.password": STORE_PASSWORD,
        # Over HTTP, none of these is found out.
        "metastore.keystore.type": "PKCS12",
        "metastore.keymanagerfactory.algorithm": "PKIX",
    }
    trust = f"-Djavax.net.ssl.trustStore={authority.java_trust()}"
    password = f"-Djavax.net.ssl.trustStorePassword={STORE_PASSWORD}"
    with open_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"{trust} {password}")
        metastore = Metastore(
            folder / "metastore",
            Ports(folder / "ports.json"),
            Settings(
                sa.make_url(database_url),
                folder / "warehouse",
                properties={**tls, **properties},
            ),
            release=release,
        )
        with running(metastore, folder / "metastore.log"):
            patch.undo()
            yield metastore.address
