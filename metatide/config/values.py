"""Types of configuration values that are validated when they are read."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from hive.urls import MASK, masked

_SPACE: Final = re.compile(r"\s")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def resolved(text: str, base: Path) -> Path:
    """The path that a text names, relative to `base` unless it is absolute or in a home."""
    try:
        return base / Path(text).expanduser()
    except RuntimeError as error:
        home = Path(text).parts[0]
        raise ValueError(f"there is no home folder {home}: write the whole path") from error


class Secret(str):
    """A text that is never shown. Keys of this type may not be set in a file."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)

    @property
    def masked(self) -> str:
        return MASK


class Url(str):
    """A URL that may include secrets, or a path. Secrets may only come from the environment."""

    __slots__ = ()
    metavar = "URL"

    def __repr__(self) -> str:
        return repr(self.masked)

    @property
    def masked(self) -> str:
        """The URL with its secrets masked."""
        return masked(self)

    @property
    def has_secret(self) -> bool:
        return self.masked != self


class Location(Url):
    """A URL, or a path that is relative to where it is written."""

    __slots__ = ()

    @classmethod
    def within(cls, text: str, base: Path) -> Self:
        """The location that a text in `base` names."""
        return cls(text if not text or _SCHEME.match(text) else str(resolved(text, base)))


class ClassPath(str):
    """Jars and folders of Java, separated by colons, each relative to where it is written."""

    __slots__ = ()

    @classmethod
    def within(cls, text: str, base: Path) -> Self:
        """The class path that a text in `base` names."""
        return cls(":".join(entry and str(resolved(entry, base)) for entry in text.split(":")))


class _CheckedUrl(Url):
    __slots__ = ()
    schemes: tuple[str, ...] = ()
    shape = ""

    def __new__(cls, text: str) -> Self:
        try:
            parts = urlsplit(text)
            wrong = parts.scheme not in cls.schemes or not parts.hostname or parts.port == 0
        except ValueError:
            wrong = True
        if wrong:
            raise ValueError(f"expected {cls.shape}")
        # Whoever masks passwords takes a space for the end of a URL.
        if _SPACE.search(text):
            raise ValueError("a space within a URL is written %20")
        return super().__new__(cls, text)

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self)


class DatabaseUrl(_CheckedUrl):
    """The URL of the metastore's database; may include a password."""

    __slots__ = ()
    schemes = ("postgresql", "mysql")
    shape = "postgresql://USER@HOST:PORT/NAME or mysql://USER@HOST:PORT/NAME"

    def with_password(self, password: str) -> str:
        """The same database with a password, for a driver."""
        user, _, host = self.parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        netloc = f"{name}:{quote(password, safe='')}@{host}"
        return self.parts._replace(netloc=netloc).geturl()


def with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """A URL with more parameters."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    return parts._replace(query=query).geturl()


class HttpUrl(_CheckedUrl):
    """The URL of a service that speaks HTTP."""

    __slots__ = ()
    schemes = ("http", "https")
    shape = "http://HOST:PORT/PATH or https://HOST:PORT/PATH"


class ThriftUrl(_CheckedUrl):
    """The URL of a metastore."""

    __slots__ = ()
    schemes = ("thrift",)
    shape = "thrift://HOST:PORT"

    def __new__(cls, text: str) -> Self:
        url = super().__new__(cls, text)
        if url.parts.port is None or url.parts.path or url.parts.username:
            raise ValueError(f"expected {cls.shape}")
        return url

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.parts.hostname, self.parts.port
        assert host is not None
        assert port is not None
        return host, port


class ThriftUrls(str):
    """The URLs of several metastores, separated by commas as in Hive's clients."""

    __slots__ = ()
    metavar = "URL,…"

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, ",".join(ThriftUrl(url.strip()) for url in text.split(",")))

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        return tuple(ThriftUrl(url).address for url in self.split(","))


class KeysLocation(Location):
    """A URL of HTTPS, or the path of a file."""

    __slots__ = ()
    metavar = "URL or PATH"

    def __new__(cls, text: str) -> Self:
        is_url = "://" in text
        try:
            parts = urlsplit(text)
            wrong = is_url and (parts.scheme != "https" or not parts.hostname or parts.port == 0)
        except ValueError:
            wrong = True
        if wrong or not text:
            raise ValueError("expected https://HOST:PORT/PATH or the path of a file")
        return super().__new__(cls, text)

    @property
    def is_url(self) -> bool:
        return "://" in self


class LdapUrl(_CheckedUrl):
    """The URL of a directory, which is reached over TLS alone."""

    __slots__ = ()
    schemes = ("ldaps",)
    shape = "ldaps://HOST or ldaps://HOST:PORT"

    def __new__(cls, text: str) -> Self:
        url = super().__new__(cls, text)
        if url.parts.path not in ("", "/") or url.parts.username:
            raise ValueError(f"expected {cls.shape}")
        return url

    @property
    def address(self) -> tuple[str, int]:
        host = self.parts.hostname
        assert host is not None
        return host, self.parts.port or 636


class LdapUrls(str):
    """The URLs of several directories, separated by commas."""

    __slots__ = ()
    metavar = "URL,…"

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, ",".join(LdapUrl(url.strip()) for url in text.split(",")))

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        return tuple(LdapUrl(url).address for url in self.split(","))


class _CheckedPrincipal(str):
    __slots__ = ()
    pattern = ""
    shape = ""

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(cls.pattern, text):
            raise ValueError(f"expected {cls.shape}")
        return super().__new__(cls, text)

    def at(self, host: str) -> str:
        """The principal on a host."""
        return self.replace("/_HOST@", f"/{host.lower()}@")


class Principal(_CheckedPrincipal):
    """The principal of a service in Kerberos."""

    __slots__ = ()
    pattern = r"[^\s/@\\]+/[^\s/@\\]+@[^\s/@\\]+"
    shape = "SERVICE/_HOST@REALM"


class OwnPrincipal(_CheckedPrincipal):
    """A principal of Kerberos that the worker has a keytab for."""

    __slots__ = ()
    pattern = r"[^\s/@\\]+(/[^\s/@\\]+)?@[^\s/@\\]+"
    shape = "NAME@REALM or NAME/_HOST@REALM"


class UserDn(str):
    """The name of a user in a directory, with a place for the name by which the user logs in."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if text.count("{user}") != 1:
            raise ValueError("expected a name with {user} in it, once")
        return super().__new__(cls, text)


class FunctionName(str):
    """The name of a function of Python."""

    __slots__ = ()
    metavar = "MODULE:FUNCTION"

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", text):
            raise ValueError("expected MODULE:FUNCTION")
        return super().__new__(cls, text)


class Servers(str):
    """Addresses of Kafka brokers, separated by commas."""

    __slots__ = ()
    metavar = "HOST:PORT"

    def __new__(cls, text: str) -> Self:
        server = r"([^\s,:/@\[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}"
        if not re.fullmatch(rf"{server}(,{server})*", text):
            raise ValueError("expected HOST:PORT, or several with commas in between")
        return super().__new__(cls, text)


class Extensions(str):
    """What a client tells brokers beside a token: names with values, separated by commas."""

    __slots__ = ()
    metavar = "NAME=VALUE,…"

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[A-Za-z]+=[^,=\s]+(,[A-Za-z]+=[^,=\s]+)*", text):
            raise ValueError("expected NAME=VALUE, or several with commas in between")
        return super().__new__(cls, text)


class HostNames(str):
    """Names of hosts, separated by commas."""

    __slots__ = ()
    metavar = "NAME,…"

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[\w.-]+( *, *[\w.-]+)*", text, re.ASCII):
            raise ValueError("expected names of hosts without ports, with commas in between")
        return super().__new__(cls, text)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name.strip().lower() for name in self.split(","))


class GuardedPatterns(str):
    """Patterns of tables, databases and methods, separated by commas."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        patterns = ",".join(pattern.strip() for pattern in text.split(","))
        one = r"[^\s,|.()#]+(\.[^\s,|.()#]+)?|[\w*]+\(\)"
        if not re.fullmatch(rf"({one})(,({one}))*", patterns):
            raise ValueError("expected DB.TABLE, DB or METHOD(), with commas in between")
        return super().__new__(cls, patterns)

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(self.split(","))


class Consistencies(str):
    """Consistencies by patterns of tables, separated by commas."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[^=,]+=(any|within|latest)(,[^=,]+=(any|within|latest))*", text):
            raise ValueError(
                "expected PATTERN=any, PATTERN=within or PATTERN=latest, with commas in between"
            )
        return super().__new__(cls, text)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The patterns with their consistencies, in order."""
        parts = (one.partition("=") for one in self.split(","))
        return tuple((pattern.strip(), consistency) for pattern, _, consistency in parts)
