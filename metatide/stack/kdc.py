"""The key distribution centre of MIT Kerberos, with a realm of its own."""

import os
import secrets
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hive.errors import MachineError
from metatide.stack.machine import LOOPBACK, folder_aside
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service, run_tool
from state.folders import make_folder

SKEW_S: Final = 300
_PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local")
_FOLDERS_OF_ADMINISTRATORS: Final = ":/usr/local/sbin:/usr/sbin"
"""Users' paths may lack them."""
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
localhost = {realm}
"""
_SERVER: Final = """\
[kdcdefaults]
kdc_listen = {address}
kdc_tcp_listen = {address}
[realms]
{realm} = {{
  database_name = {data}/principal
  key_stash_file = {data}/stash
  max_life = {life}
}}
"""


class Kdc(Service):
    """A server with its realm in `folder`, and the keytabs of principals, which it keeps."""

    name = "krb5kdc"

    def __init__(
        self,
        folder: Path,
        ports: Ports,
        realm: str,
        keytabs: Mapping[Path, Sequence[str]],
        *,
        ticket_life: str = "1d",
    ) -> None:
        self.config: Final = folder / "krb5.conf"
        """What clients read, by KRB5_CONFIG."""
        self.realm: Final = realm
        self._folder = folder
        self._keytabs = keytabs
        self._ticket_life = ticket_life
        self._port = ports.take("kdc")

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        require_programs()
        make_folder(self._folder)
        self.write_config(self.config)
        data = self._folder / "data"
        if not data.exists():
            self._create(data)
        self._write_own_config(data)
        for path, principals in self._keytabs.items():
            if not path.exists():
                self.write_keytab(path, principals)
        # The folder must be in the command line, by which a later run knows the process.
        own = ("-P", str(self._folder / "krb5kdc.pid"))
        return Launch((_program("krb5kdc"), "-n", "-r", self.realm, *own), self._environment)

    def answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((LOOPBACK, self._port)) == 0

    def write_config(self, path: Path, skew_s: int = SKEW_S) -> Path:
        """Writes what a client reads that tolerates such a difference of clocks."""
        path.write_text(_CLIENTS.format(realm=self.realm, address=self.address, skew_s=skew_s))
        return path

    def write_keytab(self, path: Path, principals: Sequence[str]) -> None:
        """Writes new keys of these principals, which are added if they are new."""
        aside = path.with_suffix(".new")
        aside.unlink(missing_ok=True)
        for principal in principals:
            self.administer(f"addprinc -randkey {principal}")
            self.administer(f"ktadd -k {aside} {principal}")
        # The program ends well even if it has done nothing.
        if not aside.exists():
            raise MachineError(f"kadmin.local has written no keys of {', '.join(principals)}")
        aside.chmod(0o600)
        aside.replace(path)

    def administer(self, query: str) -> None:
        """Changes the realm, whether the server runs or not."""
        self._run("kadmin.local", "-r", self.realm, "-q", query)

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf"),
        }

    def _create(self, data: Path) -> None:
        """Creates the realm aside and renames it, so that `data` is never incomplete."""
        aside = folder_aside(data)
        make_folder(aside)
        self._write_own_config(aside)
        # The key that this password gives lies in the stash, so nobody needs it again.
        password = secrets.token_urlsafe()
        self._run("kdb5_util", "create", "-s", "-P", password, "-r", self.realm)
        for path in self._keytabs:
            path.unlink(missing_ok=True)
        aside.rename(data)

    def _write_own_config(self, data: Path) -> None:
        (self._folder / "kdc.conf").write_text(
            _SERVER.format(
                realm=self.realm, data=data, address=self.address, life=self._ticket_life
            )
        )

    def _run(self, program: str, *arguments: str) -> None:
        run_tool(
            [_program(program), *arguments],
            f"the realm {self.realm} in {self._folder} could not be set up",
            environment=self._environment,
        )


def require_programs() -> None:
    """Raises MachineError if programs of the server aren't installed."""
    for name in _PROGRAMS:
        _program(name)


def _program(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + _FOLDERS_OF_ADMINISTRATORS)
    if path is None:
        raise MachineError(
            f"there is no {name}: install MIT Kerberos' server (Debian: krb5-kdc and "
            "krb5-admin-server; kinit is in krb5-user)"
        )
    return path
