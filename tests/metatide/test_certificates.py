import pytest

from hive.errors import InputError
from metatide.certificates import server_tls
from metatide.config import load


@pytest.mark.parametrize("name", ["reads", "thrift"])
def test_a_certificate_and_its_key_go_together(name: str) -> None:
    def tls(**files: str) -> object:
        environ = {f"METATIDE_{name.upper()}_TLS_{part}": path for part, path in files.items()}
        config = load(environ=environ).config
        return server_tls(name, config.reads if name == "reads" else config.thrift)

    assert tls() is None
    alone = rf"set both {name}\.tls_certificate and {name}\.tls_key, or neither"
    with pytest.raises(InputError, match=alone):
        tls(CERTIFICATE="/nowhere/cert.pem")
    with pytest.raises(InputError, match=alone):
        tls(KEY="/nowhere/key.pem")
    unread = rf"{name}\.tls_certificate /nowhere/c and {name}\.tls_key /nowhere/k can't be used: "
    with pytest.raises(InputError, match=unread):
        tls(CERTIFICATE="/nowhere/c", KEY="/nowhere/k")
