"""The one question to a metastore, against Thrift's own reader and writer."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive.errors import MachineError
from hive.listener import LISTENER
from metatide import metastores
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import (
    FunctionName,
    GuardedPatterns,
    OwnPrincipal,
    Principal,
    ThriftUrls,
)
from metatide.doctor import CHECKS, Finding, Status, Target, examine, upstream
from metatide.doctor import metastore as checks
from metatide.doctor.upstream import setting
from query_api.thrift.metastore.link import host_port

AUTHORIZED_BY_LISTS = Thrift(
    authorization="lists",
    authorization_lists=Path("lists"),
    password_check=FunctionName("package.module:function"),
    tls_certificate=Path("certificate"),
    tls_key=Path("key"),
)
Answer = Callable[[TBinaryProtocol, str, int], None]
"""Answers a call for a setting, with the number of the call."""


def value(text: str) -> Answer:
    def answer(protocol: TBinaryProtocol, _name: str, sequence: int) -> None:
        protocol.writeMessageBegin("get_config_value", TMessageType.REPLY, sequence)
        protocol.writeFieldBegin("success", TType.STRING, 0)
        protocol.writeString(text)
        protocol.writeFieldStop()

    return answer


def settings_of(known: dict[str, str]) -> Answer:
    return lambda protocol, name, sequence: value(known.get(name, ""))(protocol, name, sequence)


def refuse(protocol: TBinaryProtocol, _name: str, sequence: int) -> None:
    protocol.writeMessageBegin("get_config_value", TMessageType.REPLY, sequence)
    protocol.writeFieldBegin("o1", TType.STRUCT, 1)
    protocol.writeFieldStop()
    protocol.writeFieldStop()


def fail(protocol: TBinaryProtocol, _name: str, sequence: int) -> None:
    protocol.writeMessageBegin("get_config_value", TMessageType.EXCEPTION, sequence)
    TApplicationException(TApplicationException.INTERNAL_ERROR, "no").write(protocol)


def hang_up(protocol: TBinaryProtocol, _name: str, sequence: int) -> None:
    protocol.writeMessageBegin("get_config_value", TMessageType.REPLY, sequence)


def damage(protocol: TBinaryProtocol, _name: str, sequence: int) -> None:
    protocol.writeMessageBegin("get_config_value", TMessageType.REPLY, sequence)
    protocol.writeFieldBegin("success", TType.STRING, 0)
    protocol.writeBinary(b"\xff")
    protocol.writeFieldStop()


def speak_http(protocol: TBinaryProtocol, _name: str, _sequence: int) -> None:
    protocol.trans.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                socket_ = TSocket()
                socket_.setHandle(connection)
                transport = TBufferedTransport(socket_)
                protocol = TBinaryProtocol(transport, strictRead=True)
                method, _, sequence = protocol.readMessageBegin()
                assert method == "get_config_value"
                calls = []
                while (field := protocol.readFieldBegin())[1] != TType.STOP:
                    calls.append((field[2], protocol.readString()))
                assert [number for number, _ in calls] == [1, 2]
                answer(protocol, calls[0][1], sequence)
                transport.flush()
                transport.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def target(*addresses: tuple[str, int]) -> Target:
    urls = ",".join(f"thrift://{host_port(address)}" for address in addresses)
    return Target(None, "metatide", 16, None, Upstream(ThriftUrls(urls)))


@pytest.mark.parametrize("text", ["", "a", "größer", "x" * 100_000])
def test_a_value_comes_as_it_was_sent(text: str) -> None:
    with serving(value(text)) as address:
        assert setting(target(address), "metastore.x") == text


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refuse, "it refuses to tell metastore.x"),
        (fail, "it refuses to tell metastore.x"),
        (hang_up, "it hung up"),
        (speak_http, "its reply can't be read"),
        (damage, "the metastore's reply can't be read: "),
    ],
)
def test_any_other_answer_is_an_error(answer: Answer, message: str) -> None:
    with serving(answer) as address, pytest.raises(MachineError, match=message):
        setting(target(address), "metastore.x")


def test_a_metastore_that_falls_silent_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metastores, "TIMEOUT_S", 0.02)
    ended = threading.Event()

    def silent(*_: object) -> None:
        ended.wait(30)

    with serving(silent) as address:
        with pytest.raises(MachineError, match=r"doesn't tell metastore\.x in time"):
            setting(target(address), "metastore.x")
        ended.set()


def test_without_a_metastore_there_is_nothing_to_check() -> None:
    alone = Target(None, "metatide", 16, None, None)
    for check in (checks.reachable, checks.impersonation):
        finding = check(alone)
        assert (finding.status, finding.detail) == (Status.UNCHECKED, "none is named")


def test_a_database_that_does_not_say_who_wrote_is_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def snapshot(_: Target) -> Iterator[object]:
        yield SimpleNamespace(dialect=SimpleNamespace(name="mysql"))

    monkeypatch.setattr(checks, "snapshot", snapshot)
    finding = checks.one_transaction(Target(None, "metatide", 16, None, None))
    assert (finding.status, finding.remedy) == (
        Status.UNCHECKED,
        "give --upstream thrift://HOST:PORT",
    )


def test_relaying_reads_has_no_use_without_hooks() -> None:
    with serving(settings_of(GOOD)) as address:
        relaying = replace(target(address), thrift=Thrift(relay_reads=True))
        finding = checks.authorization(relaying)
    assert (finding.status, finding.remedy) == (Status.FAILED, "remove thrift.relay_reads")


@pytest.mark.parametrize(
    ("thrift", "status"),
    [
        (Thrift(), Status.UNCHECKED),
        (Thrift(relay_reads=True), Status.OK),
        (Thrift(relay_reads_of=GuardedPatterns("vault.*")), Status.OK),
        (Thrift(authorization="metastore"), Status.OK),
        (AUTHORIZED_BY_LISTS, Status.OK),
    ],
)
def test_hooks_are_a_doubt_unless_reads_are_guarded(thrift: Thrift, status: Status) -> None:
    with serving(settings_of({"metastore.filter.hook": "a.Hook"})) as address:
        finding = checks.authorization(replace(target(address), thrift=thrift))
    assert finding.status is status
    if status is Status.UNCHECKED:
        assert "metastore.filter.hook is 'a.Hook'" in finding.detail
        assert finding.remedy is not None
        assert finding.remedy.startswith("if they guard reads, set thrift.authorization")


def test_a_metastore_that_issues_no_delegation_tokens_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse_to_issue(_: Target) -> None:
        raise MachineError("the metastore issues none")

    monkeypatch.setattr(upstream, "impersonate", refuse_to_issue)
    by_ticket = Upstream(
        ThriftUrls("thrift://hms:9083"),
        kerberos_principal=Principal("hive/_HOST@EXAMPLE.COM"),
        kerberos_login=OwnPrincipal("metatide@EXAMPLE.COM"),
        kerberos_keytab=Path("keytab"),
    )
    finding = checks.impersonation(Target(None, "metatide", 16, None, by_ticket))
    assert (finding.status, finding.detail) == (Status.FAILED, "the metastore issues none")
    assert "upstream.impersonate=false" in (finding.remedy or "")


def test_nobody_there_is_an_error_with_the_address() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = nobody.getsockname()
        with pytest.raises(MachineError, match=f"no metastore answers: 127.0.0.1:{address[1]}"):
            setting(target(address), "metastore.x")
        finding = checks.reachable(target(address))
        assert finding.status is Status.FAILED


GOOD = {
    "metastore.transactional.event.listeners": f"a.B, {LISTENER}",
    "metastore.event.db.listener.timetolive": "7d",
}


@pytest.mark.parametrize(
    ("check", "changed", "words"),
    [
        (checks.listener, {}, None),
        (checks.listener, {"metastore.transactional.event.listeners": ""}, "end it with"),
        (
            checks.listener,
            {"metastore.transactional.event.listeners": f"{LISTENER},a.B"},
            "end it with",
        ),
        (checks.listener, {"metastore.event.listeners": LISTENER}, "take org.apache"),
        (checks.stripping, {}, None),
        (
            checks.stripping,
            {"metastore.notification.parameters.exclude.patterns": "spark.*"},
            "make it empty",
        ),
        (checks.default_catalog, {}, None),
        (checks.default_catalog, {"metastore.catalog.default": "Hive"}, None),
        (
            checks.default_catalog,
            {"metastore.catalog.default": "spark"},
            "set database.default_catalog to spark",
        ),
        (checks.retention, {}, None),
        (checks.retention, {"metastore.event.db.listener.timetolive": "86400s"}, None),
        (checks.retention, {"metastore.event.db.listener.timetolive": "23h"}, "set it to 7d"),
        (checks.retention, {"metastore.event.db.listener.timetolive": "99999ms"}, "set it to 7d"),
        (checks.retention, {"metastore.event.db.listener.timetolive": ""}, "set it to 7d"),
    ],
)
def test_settings_are_judged(
    check: Callable[[Target], Finding], changed: dict[str, str], words: str | None
) -> None:
    with serving(settings_of(GOOD | changed)) as address:
        finding = check(target(address))
    if words is None:
        assert finding.status is Status.OK
    else:
        assert finding.status is Status.FAILED
        assert finding.remedy is not None
        assert words in finding.remedy


def test_each_metastore_is_asked_and_what_differs_is_told_with_its_address() -> None:
    hook = {"metastore.filter.hook": "a.Hook"}
    other_settings = {"metastore.event.db.listener.timetolive": "2h"} | hook
    with serving(settings_of(GOOD)) as good, serving(settings_of(other_settings)) as other:
        of_metastores = [check for check in CHECKS if "metastore" in (check.name, check.needs)]
        both = target(good, other)
        findings = {each.check: each.finding for each in examine(both, of_metastores)}
        guarded = checks.authorization(replace(both, thrift=Thrift(relay_reads=True)))
    faults = {
        name: each.detail
        for name, each in findings.items()
        if each.status is Status.FAILED or name == "authorization hooks"
    }
    assert {*faults} == {"listener", "log retention", "authorization hooks"}
    assert all(host_port(other) in detail for detail in faults.values())
    assert not any(host_port(good) in detail for detail in faults.values())
    assert findings["authorization hooks"].status is Status.UNCHECKED
    assert findings["metastore"].detail == f"{host_port(good)}; {host_port(other)}"
    assert findings["parameter stripping"] == Finding(Status.OK, "off")
    assert guarded.status is Status.OK


def test_one_metastore_that_is_away_is_told() -> None:
    with serving(settings_of(GOOD)) as good, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = nobody.getsockname()
        reachable = [check for check in CHECKS if check.name == "metastore"]
        [result] = examine(target(good, away), reachable)
    assert result.finding.status is Status.FAILED
    assert result.finding.detail.startswith(f"{host_port(away)}: ")


@pytest.mark.parametrize("text", ["604800000ms", "604800000 msec", "1 day", "1440MIN", "86400"])
def test_a_retention_in_any_unit_of_hive_is_long_enough(text: str) -> None:
    answer = settings_of({"metastore.event.db.listener.timetolive": text})
    with serving(answer) as address:
        assert checks.retention(target(address)).status is Status.OK


@pytest.mark.parametrize("text", ["86399999ms", "604800000us", "7 months", "7 lightyears", "d"])
def test_a_retention_that_is_short_or_no_time_is_told(text: str) -> None:
    answer = settings_of({"metastore.event.db.listener.timetolive": text})
    with serving(answer) as address:
        assert checks.retention(target(address)).status is Status.FAILED
