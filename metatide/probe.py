"""Whether the server in this container is well, for its health check: `python -m metatide.probe`.

The process of the container is the server. Its arguments and the environment, which the check
shares, say where it listens. A command that ends by itself listens nowhere, and is always well.
"""

import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

from hive.errors import MetatideError
from metatide.advertised import joined, near
from metatide.config import Config, load
from metatide.config.keys import KEYS

TIMEOUT_S: Final = 20.0
_SHOWN_MAX: Final = 300
_PROCESS: Final = Path("/proc/1/cmdline")
_PROGRAM: Final = "metatide"


@dataclass(frozen=True)
class _Role:
    """What answers for a command: the section of its address, and the path to ask."""

    section: str
    path: str
    encrypts: bool


_ROLES: Final = {
    "connect": _Role("connect", "/healthz", encrypts=False),
    "work": _Role("worker", "/readyz", encrypts=True),
    "serve": _Role("http", "/readyz", encrypts=True),
}


def question(arguments: Sequence[str]) -> str | None:
    """The URL that tells how the process with these arguments is; None if it is no server."""
    names = [PurePath(argument).name for argument in arguments]
    if _PROGRAM not in names:
        return None
    words = arguments[names.index(_PROGRAM) + 1 :]
    role = _ROLES.get(words[0]) if words else None
    if role is None:
        return None
    return _url(role, _configured(words[1:]))


def _configured(words: Sequence[str]) -> Config:
    by_option = {key.option: name for name, key in KEYS.items() if key.option is not None}
    options, file = {}, None
    for word, following in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option == "--config":
            file = Path(value if equals else following)
        elif option in by_option:
            options[by_option[option]] = value if equals else following
    return load(options, file=file).config


def _url(role: _Role, config: Config) -> str:
    section = getattr(config, role.section)
    encrypted = role.encrypts and config.reads.tls_certificate is not None
    return f"http{'s' * encrypted}://{joined(near(section.host), section.port)}{role.path}"


def fault(url: str) -> str | None:
    """What is wrong with the server there; None if nothing is."""
    # Its certificate is for the names by which others know it.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urlopen(url, timeout=TIMEOUT_S, context=context):
            return None
    except HTTPError as error:
        with error:
            return f"{url}: {error.code} {error.read(_SHOWN_MAX).decode(errors='replace')}"
    except (OSError, HTTPException) as error:
        return f"{url}: {error}"


def main() -> None:
    arguments = _PROCESS.read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    try:
        url = question(arguments)
        wrong = None if url is None else fault(url)
    except MetatideError as error:
        wrong = str(error)
    if wrong is not None:
        sys.exit(wrong)


if __name__ == "__main__":
    main()
