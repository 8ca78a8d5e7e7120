"""The parts of a server that all its connections share."""

import msgspec

from query_api.authorization.guard import Guard
from query_api.latest.recent_reads import RecentReads
from query_api.resolver.database import Database
from query_api.resolver.fallback_latency import FallbackLatency
from query_api.resolver.shared_reads import LogEndReads
from query_api.shards import Views
from query_api.thrift.call import Methods
from query_api.thrift.metastore.client_links import ClientLinks
from query_api.thrift.metastore.constants import Constants
from query_api.thrift.metastore.upstream import Upstreams
from query_api.thrift.metrics import Metrics
from query_api.thrift.reply_cache import ReplyCache
from query_api.thrift.settings import ThriftSettings
from query_api.thrift.shadow import Shadow
from query_api.thrift.thrift_peers import ThriftPeers


class Hub(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that a call needs."""

    settings: ThriftSettings
    methods: Methods
    database: Database
    log_end_reads: LogEndReads
    recent: RecentReads
    metastore_latency: FallbackLatency
    views: Views
    reply_cache: ReplyCache
    upstreams: Upstreams
    links: ClientLinks
    constants: Constants
    thrift_peers: ThriftPeers
    metrics: Metrics
    shadow: Shadow
    guard: Guard
