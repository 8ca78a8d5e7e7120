"""Who a client says that it is: what permissions are remembered by."""

from collections.abc import Hashable, Sequence

import pytest

from hive.thrift.binary import encode
from query_api.thrift.call import Client
from query_api.thrift.metastore.client_identity import (
    _CONF,
    _UGI,
    SET_META_CONF,
    SET_UGI,
    SETTINGS_MAX,
    ClientIdentity,
)
from query_api.thrift.metastore.link import Reply
from query_api.thrift.metastore.reader import MetastoreReader
from query_api.thrift.protocol.wire import STOP, Message, MessageType, header
from query_api.thrift.sasl.mechanism import Identity
from tests.query_api.thrift.serving import result


async def ask(_: str, __: bytes) -> Reply | None:
    return None


def key(identity: ClientIdentity) -> Hashable:
    return MetastoreReader(identity.introduction, ask).key


def says(user: str, groups: Sequence[str] = (), number: int = 0) -> ClientIdentity:
    """A client that has called `set_ugi`."""
    identity = ClientIdentity(Client("here"), lambda: b"")
    sequence = number.to_bytes(4, "big")
    head = header(MessageType.CALL, SET_UGI, sequence)
    body = encode(_UGI, {"user_name": user, "group_names": [*groups]})
    message = Message(head + body, SET_UGI, MessageType.CALL, sequence, len(head), 1)
    assert identity.introduce(message) is not None
    assert identity.introduction.claim == message.data
    return identity


def test_permissions_are_remembered_by_user_and_groups_alone() -> None:
    assert key(says("ann", number=1)) == key(says("ann", number=2))
    by_protocol = ClientIdentity(Client("here"), lambda: b"")
    by_protocol.claim("ann")
    assert key(by_protocol) == key(says("ann"))
    keys = {key(says("ann")), key(says("eve")), key(says("ann", ["admins"]))}
    assert len(keys) == 3


def test_what_they_are_remembered_by_is_short() -> None:
    remembered = key(says("ann", ["g" * 65_000]))
    assert isinstance(remembered, bytes)
    assert len(remembered) == 32


def test_a_client_that_has_proved_a_name_is_known_by_it() -> None:
    identity = says("eve")
    identity.prove(Identity("ann", "GSSAPI", "ann@EXAMPLE.COM"))
    assert key(identity) == "ann@EXAMPLE.COM"


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (encode(_CONF, {"key": "metastore.client.socket.timeout", "value": "1"}), False),
        (encode(_CONF, {"key": "metastore.try.direct.sql", "value": "1"}), True),
        (b"\x0b\0\1\0\0\0\2\xff\xff\0", True),
    ],
)
def test_a_setting_that_the_metastore_took_counts_even_if_it_cant_be_read(
    body: bytes, counts: bool
) -> None:
    client = Client("here")
    identity = ClientIdentity(client, lambda: b"")
    message = Message(body, SET_META_CONF, MessageType.CALL, bytes(4), 0, 1)
    identity.set(message, result("refused"))
    assert not client.has_settings
    identity.set(message, STOP)
    assert client.has_settings is counts


def test_so_many_settings_are_repeated() -> None:
    identity = ClientIdentity(Client("here"), lambda: b"")
    for number in range(SETTINGS_MAX + 1):
        body = encode(_CONF, {"key": f"k{number}", "value": "1"})
        identity.set(Message(body, SET_META_CONF, MessageType.CALL, bytes(4), 0, 1), STOP)
    assert len(identity.introduction.session) == SETTINGS_MAX
