"""Tickets for brokers; see `tests.processors.consumer.test_kerberos_logins`."""

import sys

import pytest

from hive.errors import InputError
from state.topic.kerberos import hold_ticket


def test_without_its_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(InputError, match="needs the extra kerberos: pip install"):
        hold_ticket("worker@REALM", "/keytab")
