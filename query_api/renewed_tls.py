"""The TLS of a server whose certificate may be renewed while it runs."""

import ssl
from functools import partial
from pathlib import Path

from query_api.watched_file import WatchedFile


def renewed_tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """A context by which each new connection gets what the files say now. While they can't be read,
    or don't fit each other, connections get what was there before. Raises OSError.
    """
    # A renewed certificate has another file: a key alone would fit none.
    newest = WatchedFile(certificate, partial(_loaded, key))

    def choose(
        connection: ssl.SSLObject | ssl.SSLSocket, _: str | None, __: ssl.SSLContext
    ) -> None:
        # One context that loads again would offer the one before, too, if that was of another kind.
        connection.context = newest.content()

    context = newest.content()
    context.sni_callback = choose
    return context


def _loaded(key: Path, certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context
