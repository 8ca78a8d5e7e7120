"""Errors of the client."""

from metatide.client.need import Position


class InvalidUrlError(ValueError):
    """The server's address is no URL, or what is asked for is too long for one."""


class ServerError(Exception):
    """The server returned an error: its `status` and message."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{detail} ({status})")
        self.status = status
        self.detail = detail


class NotFoundError(ServerError):
    """The object doesn't exist, as of a `position`."""

    def __init__(self, status: int, detail: str, position: Position) -> None:
        super().__init__(status, detail)
        self.position = position


class UnavailableError(ServerError):
    """Neither the cache nor the database can answer now; try again later."""

    def __init__(self, status: int, detail: str, retry_after_s: float) -> None:
        super().__init__(status, detail)
        self.retry_after_s = retry_after_s
