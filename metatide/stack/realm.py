"""The realm of Kerberos of a secured stack: who is in it, and what each needs to log in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hive.errors import InputError
from metatide.config import Config
from metatide.config.values import OwnPrincipal, Principal
from metatide.stack.machine import ANY, LOOPBACK

HOST: Final = "localhost"
"""The host in the names of services: Java's clients replace `_HOST` by the one that they call."""
REALM: Final = "METATIDE.TRIAL"
SERVICE: Final = f"hive/{HOST}@{REALM}"
SERVICE_OF_HTTP: Final = f"HTTP/{HOST}@{REALM}"
WORKERS_NAME: Final = "metatide"
WORKERS: Final = f"{WORKERS_NAME}@{REALM}"
USER: Final = f"trial@{REALM}"
_PATTERN: Final = f"hive/_HOST@{REALM}"


class Realm:
    """The files of the realm in a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.folder: Final = data_dir / "realm"
        self.clients: Final = self.folder / "krb5.conf"
        """What clients read, by KRB5_CONFIG."""
        self.service: Final = self.folder / "service.keytab"
        self.workers: Final = self.folder / "workers.keytab"
        self.user: Final = self.folder / "user.keytab"
        self._tickets = f"FILE:{self.folder / 'tickets'}"

    @property
    def keytabs(self) -> Mapping[Path, tuple[str, ...]]:
        """The keytabs, and whose keys they hold."""
        return {
            self.service: (SERVICE, SERVICE_OF_HTTP),
            self.workers: (WORKERS,),
            self.user: (USER,),
        }

    @property
    def environment(self) -> dict[str, str]:
        """With this, programs find the realm."""
        return {"KRB5_CONFIG": str(self.clients)}

    def thrift_settings(self) -> dict[str, object]:
        """The keys of `thrift` by which workers check tickets."""
        return {"kerberos_principal": Principal(SERVICE), "kerberos_keytab": self.service}

    def upstream_settings(self) -> dict[str, object]:
        """The keys of `upstream` by which workers log in at the stack's metastore."""
        return {
            "kerberos_principal": Principal(_PATTERN),
            "kerberos_login": OwnPrincipal(WORKERS),
            "kerberos_keytab": self.workers,
        }

    def instructions(self, uris: str) -> tuple[str, ...]:
        """What a user types and sets for the clients of a metastore at these addresses."""
        return (
            "in a shell, to have a ticket:",
            f"  export KRB5_CONFIG={self.clients} KRB5CCNAME={self._tickets}",
            f"  kinit -k -t {self.user} {USER}",
            "in an engine:",
            f"  hive.metastore.uris={uris}",
            "  hive.metastore.sasl.enabled=true",
            f"  hive.metastore.kerberos.principal={_PATTERN}",
            "  hadoop.security.authentication=kerberos",
            f"  and for its Java: -Djava.security.krb5.conf={self.clients}",
        )


def require_free_choice(config: Config) -> None:
    """Raises InputError if the configuration says other things of logins than a secured stack."""
    if config.thrift.needs_login:
        raise InputError(
            "--secure has clients log in by tickets of the stack's own realm: leave out other "
            "logins (thrift.kerberos_principal, thrift.ldap_url, thrift.jwt_keys)"
        )
    if config.thrift.host not in (LOOPBACK, ANY, HOST):
        raise InputError(
            f"--secure is to try logins on this machine, by the name {HOST}: leave out thrift.host"
        )
