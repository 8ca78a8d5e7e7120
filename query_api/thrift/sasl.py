"""Refuses SASL, which this server doesn't speak.

A client that wants Kerberos, PLAIN or a delegation token first sends a byte 1; no message begins
with that. To support it, the negotiation would go here, before the scanner, along with the
unwrapping of what follows, as in `frames`; the rest of the server knows nothing of transports.
"""

from typing import Final

from query_api.thrift.wire import I32

START: Final = 1
_BAD: Final = b"\x03"
ADVICE: Final = (
    "SASL (Kerberos, PLAIN, tokens) is not spoken here: set hive.metastore.sasl.enabled and "
    "metastore.use.auth=false at the client, or connect it to the metastore itself"
)


def refusal() -> bytes:
    """The refusal in SASL's format, whose text the client shows."""
    text = ADVICE.encode()
    return _BAD + I32.pack(len(text)) + text
