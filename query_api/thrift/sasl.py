"""SASL, as far as saying that it isn't spoken here.

A client that wants Kerberos, PLAIN or a delegation token begins with a byte 1, which no message
does. To serve it would mean to negotiate here, before the scanner sees a byte, and to unwrap what
comes then as `frames` does: the rest of the server knows nothing of transports.
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
    """What a client of SASL understands, and shows."""
    text = ADVICE.encode()
    return _BAD + I32.pack(len(text)) + text
