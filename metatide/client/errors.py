"""Errors of the client."""

from metatide.client.need import Position


class InvalidUrlError(ValueError):
    """The server's address is no URL, or what is asked for is too long for one."""


class ServerError(Exception):
    """The server returned an error: its `status` and message."""

    # An error is made again from `args`, as where another process has raised it.

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.detail} ({self.status})"


class NotFoundError(ServerError):
    """The object doesn't exist, as of a `position`."""

    def __init__(self, status: int, detail: str, position: Position) -> None:
        super().__init__(status, detail)
        self.args = status, detail, position
        self.position = position


class UnavailableError(ServerError):
    """Neither the cache nor the database can answer now; try again later."""

    def __init__(self, status: int, detail: str, retry_after_s: float) -> None:
        super().__init__(status, detail)
        self.args = status, detail, retry_after_s
        self.retry_after_s = retry_after_s
