"""The certificates of servers: a worker's own, and those that count."""

import ssl
from pathlib import Path

from hive.errors import InputError
from metatide.config.schema import Reads
from metatide.config.section import require_together
from metatide.config.thrift import Thrift
from query_api.renewed_tls import renewed_tls


def server_tls(name: str, section: Reads | Thrift) -> ssl.SSLContext | None:
    """The TLS of the server that this section of the configuration describes; None without a
    certificate. Raises InputError if it doesn't fit its key."""
    require_together(section, "tls_certificate", "tls_key")
    certificate, key = section.tls_certificate, section.tls_key
    if certificate is None:
        return None
    assert key is not None
    try:
        return renewed_tls(certificate, key)
    except OSError as error:
        raise InputError(
            f"{name}.tls_certificate {certificate} and {name}.tls_key {key} can't be used: {error}"
        ) from error


def trusted(ca: Path | None, name: str) -> ssl.SSLContext:
    """Whose certificates count, as the key of this name says. Raises InputError."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise InputError(f"{name}: {ca} can't be used: {error}") from error
