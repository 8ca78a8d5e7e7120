"""A realm of Kerberos, whose key distribution centre runs for the tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from metatide.stack import kdc as stack_kdc
from metatide.stack.ports import Ports
from tests.support.processes import running

REALM: Final = "TIDES.TEST"
HOST: Final = "localhost"
SERVICE: Final = f"hive/{HOST}@{REALM}"


class Kdc(stack_kdc.Kdc):
    """That of a stack, with a realm of the tests."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder, ports, REALM, {}, ticket_life="1h")

    def keytab(self, *principals: str) -> Path:
        """A keytab with new keys of these principals, which are added if they are new."""
        path = self.config.with_name(f"{principals[0].replace('/', '-')}.keytab")
        self.write_keytab(path, principals)
        return path

    def limit_tickets(self, principal: str, seconds: int) -> None:
        """Limits the time of a principal's tickets."""
        self.administer(f'modprinc -maxlife "{seconds} seconds" {principal}')


@contextmanager
def kdc(folder: Path) -> Iterator[Kdc]:
    """A new realm; it ends with the block."""
    server = Kdc(folder / "kdc", Ports(folder / "ports.json"))
    with running(server, folder / "kdc.log"):
        yield server
