"""What can go wrong between here and the server."""


class ServerError(Exception):
    """The server refused: `status` and what it said."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{detail} ({status})")
        self.status = status
        self.detail = detail


class NotFoundError(ServerError):
    """There is no such object."""


class UnavailableError(ServerError):
    """Neither cache nor database can answer now; try again later."""

    def __init__(self, status: int, detail: str, retry_after_s: float) -> None:
        super().__init__(status, detail)
        self.retry_after_s = retry_after_s
