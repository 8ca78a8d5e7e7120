"""What keys of a section need of each other."""

from pathlib import Path

import pytest

from hive.errors import InputError
from metatide.config.schema import Database
from metatide.config.section import require_together
from metatide.config.upstream import Upstream
from metatide.config.values import OwnPrincipal


def test_keys_that_need_each_other_are_named() -> None:
    certificate = Path("/cert.pem")
    with pytest.raises(InputError) as refused:
        Database(tls_ca=Path("/ca.pem"), tls_certificate=certificate)
    both = "set both database.tls_certificate and database.tls_key, or neither"
    assert str(refused.value) == both
    Database(tls_ca=Path("/ca.pem"), tls_certificate=certificate, tls_key=Path("/key.pem"))


def test_of_three_keys_all_are_needed() -> None:
    with pytest.raises(InputError) as refused:
        Upstream(kerberos_login=OwnPrincipal("metatide/_HOST@EXAMPLE.COM"))
    assert str(refused.value) == (
        "set all of upstream.kerberos_principal, upstream.kerberos_login and "
        "upstream.kerberos_keytab, or none"
    )
    require_together(Upstream(), "kerberos_principal", "kerberos_login", "kerberos_keytab")
