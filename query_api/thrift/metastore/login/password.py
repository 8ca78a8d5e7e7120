"""The worker's own login at metastores that check passwords: SASL's PLAIN (RFC 4616)."""

from pathlib import Path
from typing import Final

from hive.errors import UpstreamError
from query_api.thrift.metastore.login.negotiation import Response
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl.mechanism import Layer
from query_api.thrift.sasl.plain import CHARS_MAX, NAME


class PasswordLogin:
    """The name of a user, and the file with the password, which is read for each login."""

    def __init__(self, user: str, file: Path) -> None:
        self.principal: Final = user
        self._file = file

    def exchange(self, _: str) -> "_Exchange":
        try:
            # Hive takes each byte of a response for a letter.
            with self._file.open(encoding="ascii") as file:
                # A file that was written by an editor ends with a line's end.
                password = file.read(CHARS_MAX + 2).removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "metastores take only ASCII"
            raise UpstreamError(
                f"upstream.password_file {self._file} can't be read: {why}"
            ) from None
        if not password or len(password) > CHARS_MAX or "\0" in password:
            raise UpstreamError(
                f"upstream.password_file {self._file} holds no password: it is to be a line of at "
                f"most {CHARS_MAX} letters"
            )
        return _Exchange(f"\0{self.principal}\0{password}".encode())

    def forget_tickets(self) -> None:
        """There are none."""


class _Exchange:
    """One login: a single response."""

    mechanism: Final = NAME

    def __init__(self, response: bytes) -> None:
        self._response = response

    async def answer(self, challenge: bytes) -> Response:
        if challenge:
            raise UpstreamError("it asks for more than a name and a password")
        return Response(self._response, is_last=True)

    def finish(self, _: bytes) -> Layer:
        return Frames()
