"""How sessions log in at the metastore's database, as parameters of its URL say.

The URL goes wherever the database is read, to executors of Spark, too. A command prints a password
that changes.
"""

import shlex
import subprocess
from collections.abc import Mapping
from threading import Lock
from time import monotonic
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

PASSWORD_COMMAND: Final = "password_command"
TLS_CA: Final = "tls_ca"
TLS_CERTIFICATE: Final = "tls_certificate"
TLS_KEY: Final = "tls_key"
LOGIN_PARAMETERS: Final = (PASSWORD_COMMAND, TLS_CA, TLS_CERTIFICATE, TLS_KEY)
COMMAND_TIMEOUT_S: Final = 10.0
REUSED_S: Final = 60.0
"""A printed password is used for so long; those of clouds are valid for some minutes."""

_TLS: Final = {
    "postgresql": {TLS_CA: "sslrootcert", TLS_CERTIFICATE: "sslcert", TLS_KEY: "sslkey"},
    "mysql": {TLS_CA: "ssl_ca", TLS_CERTIFICATE: "ssl_cert", TLS_KEY: "ssl_key"},
}
_VERIFYING: Final[dict[str, dict[str, Any]]] = {
    "postgresql": {"sslmode": "verify-full"},
    "mysql": {"ssl_verify_cert": True, "ssl_verify_identity": True},
}


class PasswordError(Exception):
    """Why there is no password."""


class Login(NamedTuple):
    """What a URL says about logging in, beside what drivers understand."""

    parameters: Mapping[str, str]

    @property
    def has_command(self) -> bool:
        """Whether a command prints the password."""
        return PASSWORD_COMMAND in self.parameters

    def password(self) -> str:
        """The password that the command prints. Raises PasswordError if it prints none."""
        return _printed.by(self.parameters[PASSWORD_COMMAND])

    def driver_settings(self, kind: str) -> dict[str, Any]:
        """The settings of TLS in words of the driver of such a database."""
        names = _TLS[kind]
        settings: dict[str, Any] = {
            names[name]: value for name, value in self.parameters.items() if name in names
        }
        if TLS_CA in self.parameters:
            settings |= _VERIFYING[kind]
        return settings


def split_login(url: sa.URL) -> tuple[sa.URL, Login]:
    """The URL as drivers understand it, and the rest."""
    parameters = {name: str(url.query[name]) for name in LOGIN_PARAMETERS if name in url.query}
    return url.difference_update_query(LOGIN_PARAMETERS), Login(parameters)


class _PrintedPasswords:
    """The passwords that commands have printed lately."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._printed: dict[str, tuple[float, str]] = {}

    def by(self, command: str) -> str:
        """The password that a command prints. Callers wait for a command that is running."""
        with self._lock:
            printed_at, password = self._printed.get(command, (-REUSED_S, ""))
            if monotonic() - printed_at >= REUSED_S:
                password = _run(command)
                self._printed[command] = (monotonic(), password)
            return password


_printed: Final = _PrintedPasswords()


def _run(command: str) -> str:
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise PasswordError(
            f"database.password_command didn't end within {COMMAND_TIMEOUT_S:g} s"
        ) from None
    except (OSError, ValueError, IndexError) as error:
        raise PasswordError(f"database.password_command can't run: {error}") from None
    if done.returncode:
        # Only stderr: stdout may hold a part of the password.
        said = done.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
        raise PasswordError(f"database.password_command ended with {done.returncode}: {said[0]}")
    password = done.stdout.removesuffix("\n")
    if not password:
        raise PasswordError("database.password_command printed nothing")
    return password
