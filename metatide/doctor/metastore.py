"""Checks how metastores write their log."""

import re

from sqlalchemy import func, literal_column, select

from hive.errors import MachineError
from hive.listener import RETENTION, TRANSACTIONAL
from hive.names import DEFAULT_CATALOG
from hive.schema import detect, metadata
from metatide.doctor import upstream
from metatide.doctor.database import snapshot
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.metastores import listener_fault
from query_api.thrift.metastore.link import host_port

EVENTS_MAX = 100_000
"""The number of newest events that are examined."""
RETENTION_S_MIN = 24 * 3600
_EXCLUDED = "metastore.notification.parameters.exclude.patterns"
_CATALOG = "metastore.catalog.default"
_HOOKS = ("metastore.pre.event.listeners", "metastore.filter.hook")
_NO_HOOKS = ("org.apache.hadoop.hive.metastore.DefaultMetaStoreFilterHookImpl",)
_GIVE_UPSTREAM = "give --upstream thrift://HOST:PORT"
_UNITS = (
    *(("d", "day", 86400.0), ("h", "hour", 3600.0), ("m", "min", 60.0), ("s", "sec", 1.0)),
    *(("ms", "msec", 1e-3), ("us", "usec", 1e-6), ("ns", "nsec", 1e-9)),
)
"""Hive's units of time: each by its short name, how its long ones begin, and its seconds."""


def one_transaction(target: Target) -> Finding:
    """Looks for a table whose row and event were written by the same transaction."""
    with snapshot(target) as connection:
        if connection.dialect.name != "postgresql":
            return unchecked("this database doesn't tell who wrote a row", _GIVE_UPSTREAM)
        version = detect(connection)
        assert version is not None
        names = metadata(version).tables
        log, tables, databases = names["NOTIFICATION_LOG"], names["TBLS"], names["DBS"]
        newest = select(func.max(log.c.EVENT_ID)).scalar_subquery()
        written_together = literal_column('"NOTIFICATION_LOG".xmin::text').op("=")(
            literal_column('"TBLS".xmin::text')
        )
        event = connection.scalar(
            select(log.c.EVENT_ID)
            .join_from(databases, tables, tables.c.DB_ID == databases.c.DB_ID)
            .join(
                log,
                (log.c.DB_NAME == databases.c.NAME)
                & (log.c.TBL_NAME == tables.c.TBL_NAME)
                & (func.coalesce(log.c.CAT_NAME, "hive") == databases.c.CTLG_NAME),
            )
            .where(log.c.EVENT_ID > newest - EVENTS_MAX, log.c.EVENT_TYPE == "CREATE_TABLE")
            .where(written_together)
            .limit(1)
        )
    if event is None:
        return unchecked("no recently created table can show it", _GIVE_UPSTREAM)
    return ok(f"event {event} was committed together with its table")


def reachable(target: Target) -> Finding:
    if target.upstream is None:
        return unchecked("none is named", _GIVE_UPSTREAM)
    try:
        upstream.setting(target, TRANSACTIONAL)
    except MachineError as error:
        return failed(str(error), "start it, or correct upstream.url (--upstream)")
    settings = upstream.settings_of(target)
    login = settings.login
    by_whom = "" if login is None else f", logged in as {login.principal}"
    return ok(f"{host_port(settings.addresses[0])}{by_whom}")


def impersonation(target: Target) -> Finding:
    """Tries whether the metastore lets the worker act for users by delegation tokens."""
    if target.upstream is None:
        return unchecked("none is named", _GIVE_UPSTREAM)
    if target.upstream.user is not None:
        return ok("off: metastores that check passwords run all calls as one user")
    if target.upstream.kerberos_principal is None and target.upstream.jwt_file is None:
        return ok("the metastore believes what workers say of clients")
    if not target.upstream.impersonate:
        return ok("off: relayed calls run as the worker's own user")
    if target.upstream.jwt_file is not None:
        return ok("the metastore is shown clients' own tokens")
    try:
        upstream.impersonate(target)
    except MachineError as error:
        return failed(
            str(error),
            "have the metastore issue delegation tokens, or set upstream.impersonate=false",
        )
    return ok("the metastore issues delegation tokens; hadoop.proxyuser there says for whom")


def listener(target: Target) -> Finding:
    fault = listener_fault(upstream.settings_of(target))
    if fault is not None:
        return failed(fault.detail, fault.remedy)
    return ok("writes events in the transaction of the change")


def stripping(target: Target) -> Finding:
    patterns = _setting(target, _EXCLUDED)
    if patterns:
        return failed(
            f"{_EXCLUDED} is {patterns!r}, which takes parameters out of events",
            "make it empty and restart the metastores",
        )
    return ok("off")


def retention(target: Target) -> Finding:
    text = _setting(target, RETENTION)
    if _seconds(text) < RETENTION_S_MIN:
        return failed(
            f"{RETENTION} is {text!r}: a connector that is down for longer misses events",
            "set it to 7d and restart the metastores",
        )
    return ok(f"events are kept for {text}")


def _seconds(text: str) -> float:
    """A time as Hive reads it; 0 if it is none. A number without a unit counts as seconds."""
    match = re.fullmatch(r"([0-9]+)\s*([a-z]*)", text.strip().lower())
    if match is None:
        return 0
    number, unit = int(match[1]), match[2] or "s"
    for short, long, seconds in _UNITS:
        if unit == short or unit.startswith(long):
            return number * seconds
    return 0


def authorization(target: Target) -> Finding:
    """Warns about hooks of the metastores that the cache bypasses. Whether they guard reads, their
    names don't say.
    """
    configured = [
        f"{name} is {text!r} at {address}"
        for address, metastore in upstream.each_metastore(target).items()
        for name in _HOOKS
        if (text := _setting(metastore, name)) not in ("", *_NO_HOOKS)
    ]
    if configured and not target.thrift.guards_reads:
        return unchecked(
            f"{' and '.join(configured)}, which the Thrift server doesn't ask about answers from "
            "the cache",
            "if they guard reads, set thrift.authorization, thrift.relay_reads_of or "
            "thrift.relay_reads; if not, leave it as it is",
        )
    if target.thrift.relay_reads and not configured:
        return failed(
            "thrift.relay_reads is set, so that the Thrift server answers nothing from the cache, "
            "and no metastore has hooks that would need it",
            "remove thrift.relay_reads",
        )
    return ok(
        "guarded reads are left to the metastores" if configured else "no metastore has hooks"
    )


def default_catalog(target: Target) -> Finding:
    """Checks that names without a catalog mean the same in the metastore and in the cache."""
    theirs = (_setting(target, _CATALOG) or DEFAULT_CATALOG).lower()
    if theirs != target.default_catalog:
        return failed(
            f"{_CATALOG} is {theirs!r}, database.default_catalog {target.default_catalog!r}: "
            "the Thrift server answers nothing from the cache",
            f"set database.default_catalog to {theirs} and restart connectors and workers",
        )
    return ok(f"names without one are of {theirs}")


def _setting(target: Target, name: str) -> str:
    return upstream.setting(target, name)
