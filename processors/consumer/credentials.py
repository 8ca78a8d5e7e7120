"""How Faust reaches the brokers, and the credentials that it presents to them."""

import ssl
from typing import Any

from faust.auth import GSSAPICredentials, OAuthCredentials, SASLCredentials, SSLCredentials

from processors.consumer.access_tokens import AccessTokens, SignedTokens
from state.topic.kerberos import hold_ticket
from state.topic.properties import EQUALS, RACK
from state.topic.settings import Security


def credentials(security: Security) -> Any:
    """Translates librdkafka's TLS and SASL settings into Faust's; None for plain text."""
    protocol = security.get("security.protocol", "plaintext").lower()
    context = _context(security) if protocol.endswith("ssl") else None
    mechanism = security.get("sasl.mechanism")
    if mechanism == "OAUTHBEARER":
        return OAuthCredentials(oauth_cb=AccessTokens(security), ssl_context=context)
    if mechanism == "AWS_MSK_IAM":
        return OAuthCredentials(oauth_cb=SignedTokens(security), ssl_context=context)
    if mechanism == "GSSAPI":
        hold_ticket(security["sasl.kerberos.principal"], security["sasl.kerberos.keytab"])
        return GSSAPICredentials(
            kerberos_service_name=security["sasl.kerberos.service.name"], ssl_context=context
        )
    if protocol.startswith("sasl"):
        return SASLCredentials(
            username=security.get("sasl.username"),
            password=security.get("sasl.password"),
            mechanism=mechanism or "PLAIN",
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def consumer_settings(security: Security) -> dict[str, Any]:
    """Translates the properties that Faust gives to its consumer."""
    return {
        f"consumer_{equal.aiokafka}": int(security[name])
        for name, equal in EQUALS.items()
        if name in security and name != RACK
    }


def _context(security: Security) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=security.get("ssl.ca.location"))
    if security.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    certificate = security.get("ssl.certificate.location")
    if certificate is not None:
        # Without any password, OpenSSL would ask for that of a locked key on the terminal.
        key, password = security.get("ssl.key.location"), security.get("ssl.key.password", "")
        context.load_cert_chain(certificate, key, password)
    return context
