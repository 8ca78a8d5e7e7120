"""That what is declared can be set from everywhere and hides what it must."""

from metatide.config import KEYS, Config
from metatide.config.keys import build


def test_the_defaults_build_the_default_configuration() -> None:
    assert build({name: key.default() for name, key in KEYS.items()}) == Config()


def test_no_two_keys_share_a_variable_or_an_option() -> None:
    variables = [key.variable for key in KEYS.values()]
    options = [key.option for key in KEYS.values() if key.option]
    assert len(set(variables)) == len(variables)
    assert len(set(options)) == len(options)


def test_a_secret_has_a_file_and_no_option() -> None:
    secrets = [key for key in KEYS.values() if key.secret]
    assert secrets
    for key in secrets:
        assert f"{key.name}_file" in KEYS
        assert key.option is None


def test_a_key_with_a_dimension_names_its_unit() -> None:
    words = ("time", "delay", "interval", "memory", "size", "budget")
    units = ("_ms", "_s", "_mib", "_bytes")
    for name in KEYS:
        if any(word in name.rpartition(".")[2] for word in words):
            assert name.endswith(units), f"{name} does not say in what it is measured"
