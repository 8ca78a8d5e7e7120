"""What a worker's Thrift server answers whom from the cache, from the configuration."""

from pathlib import Path
from typing import Final

import structlog

from hive.errors import InputError
from metatide.config import Config
from query_api.authorization.authorizer import Authorizer
from query_api.authorization.guard import Guard
from query_api.authorization.lists import Lists, read_grants
from query_api.authorization.verdicts import MetastoreVerdicts
from query_api.backend import Backend

_SHOWN_MAX: Final = 10

log = structlog.get_logger(__name__)


def guard_of(config: Config, backend: Backend) -> Guard:
    """Raises InputError if what is configured can't be kept."""
    left = config.thrift.relay_reads_of
    return Guard(() if left is None else left.patterns, _authorizer(config, backend))


def _authorizer(config: Config, backend: Backend) -> Authorizer | None:
    thrift, upstream = config.thrift, config.upstream
    if thrift.authorization == "lists":
        assert thrift.authorization_lists is not None
        if thrift.ldap_url is not None:
            _warn_of_capitals(thrift.authorization_lists)
        return Lists(thrift.authorization_lists)
    if thrift.authorization == "none":
        return None
    if upstream.url is None:
        raise InputError("thrift.authorization=metastore asks a metastore: set upstream.url")
    if upstream.user is not None:
        raise InputError(
            "thrift.authorization=metastore asks as the client's user, and metastores that check "
            "passwords run all calls as one (upstream.user): use thrift.authorization=lists"
        )
    has_own_user = upstream.kerberos_principal is not None or upstream.jwt_file is not None
    if has_own_user and not upstream.impersonate:
        raise InputError(
            "thrift.authorization=metastore asks as the client's user: set upstream.impersonate"
        )
    return MetastoreVerdicts(backend.log_end_reads, thrift.authorization_s)


def _warn_of_capitals(path: Path) -> None:
    users = sorted(user for user in read_grants(path).by_user if user != user.lower())
    if users:
        log.warning(
            "users of thrift.ldap_url are known by lower case, so these lines are of none of them",
            users=users[:_SHOWN_MAX],
            file=str(path),
        )
