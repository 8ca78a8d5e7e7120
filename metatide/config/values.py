"""Types of values that are more than a number or a text, each checked when it is read."""

import re
from typing import Self
from urllib.parse import SplitResult, quote, urlsplit

MASK = "***"


class Secret(str):
    """A text that is never shown. A key of this type is not allowed in a file of settings."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)

    @property
    def masked(self) -> str:
        return MASK


class _Url(str):
    __slots__ = ()
    schemes: tuple[str, ...] = ()
    shape = ""
    metavar = "URL"

    def __new__(cls, text: str) -> Self:
        try:
            parts = urlsplit(text)
            wrong = parts.scheme not in cls.schemes or not parts.hostname or parts.port == 0
        except ValueError:
            wrong = True
        if wrong:
            raise ValueError(f"expected {cls.shape}")
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        return repr(self.masked)

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self)

    @property
    def password(self) -> str | None:
        return self.parts.password

    @property
    def masked(self) -> str:
        """The URL as it may be shown."""
        return str(self) if self.password is None else self._with_password(MASK)

    def _with_password(self, password: str) -> str:
        user, _, host = self.parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        return self.parts._replace(netloc=f"{name}:{password}@{host}").geturl()


class DatabaseUrl(_Url):
    """Where the metastore's database is; may carry a password."""

    __slots__ = ()
    schemes = ("postgresql", "mysql")
    shape = "postgresql://USER@HOST:PORT/NAME or mysql://USER@HOST:PORT/NAME"

    def with_password(self, password: str) -> str:
        """The same database, for a driver to connect to."""
        return self._with_password(quote(password, safe=""))


class ThriftUrl(_Url):
    """Where a metastore listens."""

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
    """Where several metastores listen, with commas in between, as Hive's clients have it."""

    __slots__ = ()
    metavar = "URL,…"

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, ",".join(ThriftUrl(one.strip()) for one in text.split(",")))

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        return tuple(ThriftUrl(one).address for one in self.split(","))


class Servers(str):
    """Addresses of Kafka brokers, with commas in between."""

    __slots__ = ()
    metavar = "HOST:PORT"

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[^\s,:/@]+:\d{1,5}(,[^\s,:/@]+:\d{1,5})*", text):
            raise ValueError("expected HOST:PORT, or several with commas in between")
        return super().__new__(cls, text)


class Consistencies(str):
    """Consistencies by patterns of tables, with commas in between."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not re.fullmatch(r"[^=,]+=(any|latest)(,[^=,]+=(any|latest))*", text):
            raise ValueError("expected PATTERN=any or PATTERN=latest, with commas in between")
        return super().__new__(cls, text)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Patterns with their consistencies, in order."""
        found = (one.partition("=") for one in self.split(","))
        return tuple((pattern.strip(), consistency) for pattern, _, consistency in found)
