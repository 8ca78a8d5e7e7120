"""A realm of Kerberos, whose key distribution centre runs for the tests."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from tests.support.processes import running
from tests.support.programs import system_program

REALM: Final = "TIDES.TEST"
HOST: Final = "localhost"
SERVICE: Final = f"hive/{HOST}@{REALM}"
_CLIENTS: Final = """\
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
clockskew = {skew_s}
[realms]
{realm} = {{
  kdc = {address}
}}
[domain_realm]
{host} = {realm}
"""
_SERVER: Final = """\
[kdcdefaults]
kdc_listen = {address}
kdc_tcp_listen = {address}
[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  max_life = 1h
}}
"""


class Kdc(Service):
    """The server of Debian's package krb5-kdc, with its realm in `folder`."""

    name = "krb5kdc"

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._folder = folder
        self._port = ports.take("kdc")
        self.config = folder / "krb5.conf"
        """What clients read, by KRB5_CONFIG."""

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        self._folder.mkdir()
        self.write_config(self.config)
        (self._folder / "kdc.conf").write_text(
            _SERVER.format(realm=REALM, folder=self._folder, address=self.address)
        )
        self._run("kdb5_util", "create", "-s", "-P", "of the tests", "-r", REALM)
        return Launch((system_program("krb5kdc"), "-n", "-r", REALM), self._environment)

    def answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((LOOPBACK, self._port)) == 0

    def write_config(self, path: Path, skew_s: int = 300) -> Path:
        """Writes what a client reads that tolerates such a difference of clocks."""
        path.write_text(
            _CLIENTS.format(realm=REALM, address=self.address, host=HOST, skew_s=skew_s)
        )
        return path

    def keytab(self, *principals: str) -> Path:
        """A keytab with new keys of these principals, which are added if they are new."""
        path = self._folder / f"{principals[0].replace('/', '-')}.keytab"
        path.unlink(missing_ok=True)
        for principal in principals:
            self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
            self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}")
        return path

    def limit_tickets(self, principal: str, seconds: int) -> None:
        """Limits the time of a principal's tickets."""
        change = f'modprinc -maxlife "{seconds} seconds" {principal}'
        self._run("kadmin.local", "-r", REALM, "-q", change)

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf"),
        }

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [system_program(program), *arguments],
            env={**os.environ, **self._environment},
            check=True,
            capture_output=True,
        )


@contextmanager
def kdc(folder: Path) -> Iterator[Kdc]:
    """A new realm; it ends with the block."""
    server = Kdc(folder / "kdc", Ports(folder / "ports.json"))
    with running(server, folder / "kdc.log"):
        yield server
