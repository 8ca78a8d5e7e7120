"""Settings of a Thrift server, as a worker makes them of its configuration."""

from metatide.certificates import server_tls
from metatide.config import load
from metatide.config.thrift import Thrift
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.sasl.clients import no_token
from tests.support.logins.certificates import Authority


def configured(authority: Authority | None, /, **keys: object) -> Thrift:
    """The section with these keys, and with a certificate of the authority, if there is one."""
    if authority is not None:
        certificate, key = authority.sign("worker")
        keys = {"TLS_CERTIFICATE": certificate, "TLS_KEY": key, **keys}
    environ = {f"METATIDE_THRIFT_{name}": str(value) for name, value in keys.items()}
    return load(environ=environ).config.thrift


def settings_of(thrift: Thrift, host: str | None = None) -> ThriftSettings:
    """Those of a worker that is advertised by this name, and knows no delegation token."""
    tls = server_tls("thrift", thrift)
    return thrift_settings(thrift, tls, mechanisms(thrift, host, no_token))
