"""An OpenLDAP server of the tests, whose users have passwords."""

import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from tests.support.logins.certificates import Authority
from tests.support.processes import running
from tests.support.programs import system_program

SUFFIX: Final = "cn=users"
USER_DN: Final = f"uid={{user}},{SUFFIX}"
_CONFIG: Final = """\
objectclass ( 1.1.2.1.1 NAME 'tester' SUP top STRUCTURAL MUST ( uid $ userPassword ) )
objectclass ( 1.1.2.1.2 NAME 'testers' SUP top STRUCTURAL MUST cn )
pidfile {folder}/slapd.pid
TLSCACertificateFile {ca}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
database ldif
suffix "{suffix}"
directory {folder}/data
access to attrs=userPassword by anonymous auth
"""


class Directory(Service):
    """The server of Debian's package, over TLS alone."""

    name = "slapd"

    def __init__(
        self, folder: Path, ports: Ports, authority: Authority, passwords: Mapping[str, str]
    ) -> None:
        self._folder = folder
        self._port = ports.take("slapd")
        self._authority = authority
        self._passwords = passwords

    @property
    def address(self) -> str:
        return f"ldaps://{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        (self._folder / "data").mkdir(parents=True)
        certificate, key = self._authority.sign("directory")
        config, entries = self._folder / "slapd.conf", self._folder / "users.ldif"
        config.write_text(
            _CONFIG.format(
                folder=self._folder,
                suffix=SUFFIX,
                ca=self._authority.certificate,
                certificate=certificate,
                key=key,
            )
        )
        users = [f"dn: {SUFFIX}\nobjectClass: testers\ncn: users\n"]
        for user, password in self._passwords.items():
            dn = USER_DN.format(user=user)
            users.append(f"dn: {dn}\nobjectClass: tester\nuid: {user}\nuserPassword: {password}\n")
        entries.write_text("\n".join(users))
        add = (system_program("slapadd"), "-f", str(config), "-l", str(entries))
        subprocess.run(add, check=True, capture_output=True)
        return Launch((system_program("slapd"), "-d", "0", "-f", str(config), "-h", self.address))

    def answers(self) -> bool:
        context = ssl.create_default_context(cafile=self._authority.certificate)
        try:
            with socket.create_connection((LOOPBACK, self._port), 5) as connection:
                context.wrap_socket(connection, server_hostname=LOOPBACK).close()
        except OSError:
            return False
        return True


@contextmanager
def directory(
    folder: Path, authority: Authority, passwords: Mapping[str, str]
) -> Iterator[Directory]:
    """A directory in a new folder; it ends with the block."""
    folder.mkdir()
    server = Directory(folder / "slapd", Ports(folder / "ports.json"), authority, passwords)
    with running(server, folder / "slapd.log"):
        yield server
