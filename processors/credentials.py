"""The credentials that Faust presents to the brokers."""

import ssl
from typing import Any

from faust.auth import OAuthCredentials, SASLCredentials, SSLCredentials

from processors.access_tokens import AccessTokens
from state.topic.settings import Security


def credentials(security: Security) -> Any:
    """Translates librdkafka's TLS and SASL settings into Faust's; None for plain text."""
    protocol = security.get("security.protocol", "plaintext").lower()
    context = _context(security) if protocol.endswith("ssl") else None
    if security.get("sasl.mechanism") == "OAUTHBEARER":
        return OAuthCredentials(oauth_cb=AccessTokens(security), ssl_context=context)
    if protocol.startswith("sasl"):
        return SASLCredentials(
            username=security.get("sasl.username"),
            password=security.get("sasl.password"),
            mechanism=security.get("sasl.mechanism", "PLAIN"),
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def _context(security: Security) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=security.get("ssl.ca.location"))
    certificate = security.get("ssl.certificate.location")
    if certificate is not None:
        key, password = security.get("ssl.key.location"), security.get("ssl.key.password")
        context.load_cert_chain(certificate, key, password)
    return context
