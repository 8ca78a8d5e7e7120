"""What a client told its metastore about itself, which each new connection must repeat."""

from collections.abc import Callable
from hashlib import sha256
from typing import Final

from hive.errors import ThriftError
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, string, strings
from query_api.thrift.call import Client
from query_api.thrift.metastore.upstream import Introduction
from query_api.thrift.protocol.wire import STOP, Message, MessageType, header
from query_api.thrift.sasl.mechanism import TOKEN, Identity

SETTINGS_MAX: Final = 64
SET_UGI: Final = "set_ugi"
SET_META_CONF: Final = "setMetaConf"
REPEATED: Final = frozenset((SET_UGI, SET_META_CONF))
"""The calls that are kept for as long as a client is connected."""
_WITHOUT_EFFECT: Final = frozenset(
    ("metastore.client.socket.timeout", "hive.metastore.client.socket.timeout")
)
"""The settings that no answer depends on."""
REPEATED_BYTES_MAX: Final = 64 * 1024
_NO_SEQUENCE: Final = b"\0\0\0\0"
_UGI: Final = Struct("set_ugi_args", (1, "user_name", string), (2, "group_names", strings))
_UGI_RESULT: Final = Struct("set_ugi_result", (0, "success", strings))
_CONF: Final = Struct("setMetaConf_args", (1, "key", string), (2, "value", string))


class ClientIdentity:
    """How a connection to a metastore begins."""

    def __init__(self, client: Client, authorization: Callable[[], bytes]) -> None:
        """`authorization` gives the header with which the call under way came."""
        self._client = client
        self._authorization = authorization
        self._has_token = False
        self._principal = ""
        self._claim: bytes | None = None
        self._claim_key = b""
        self._settings: dict[str, bytes] = {}

    @property
    def introduction(self) -> Introduction:
        """What a metastore is told first."""
        session = [*self._settings.values()]
        return Introduction(
            self._client.user,
            self._principal,
            self._claim,
            self._claim_key,
            session,
            self._authorization if self._has_token else None,
        )

    @property
    def is_proved(self) -> bool:
        """Whether the client has proved who it is."""
        return bool(self._principal)

    def prove(self, identity: Identity) -> None:
        """Takes note of who the client has proved to be; it can't become another user."""
        self.claim(identity.user)
        self._principal = identity.principal or identity.user
        self._has_token = identity.kind == TOKEN

    def claim(self, user: str) -> None:
        """Takes note of who the client says that it is, as it does by `set_ugi`, too."""
        self._client.user = user
        body = encode(_UGI, {"user_name": user, "group_names": []})
        self._take(header(MessageType.CALL, SET_UGI, _NO_SEQUENCE) + body, body)

    def introduce(self, message: Message) -> bytes | None:
        """Takes note of a `set_ugi`; returns the reply that the metastore would give, or None if
        the call can't be read.
        """
        try:
            arguments = decode(_UGI, message.body)
            groups = [*arguments.get("group_names", []), arguments["user_name"]]
        except (ThriftError, KeyError):
            return None
        if not self.is_proved:
            self._take(message.data, message.body)
            self._client.user = arguments["user_name"]
        body = encode(_UGI_RESULT, {"success": groups})
        return header(MessageType.REPLY, message.method, message.sequence) + body

    def set(self, message: Message, result: bytes) -> None:
        """Takes note of a `setMetaConf` that the metastore answered with this result."""
        if result != STOP:
            return
        try:
            name = decode(_CONF, message.body).get("key", "")
        except ThriftError:
            self._client.has_settings = True
            return
        if name not in _WITHOUT_EFFECT:
            self._client.has_settings = True
        if name in self._settings or len(self._settings) < SETTINGS_MAX:
            self._settings[name] = message.data

    def _take(self, claim: bytes, arguments: bytes) -> None:
        self._claim = claim
        self._claim_key = sha256(arguments).digest()
