import pytest

from hive.errors import InputError
from metatide.stack.kafka import KafkaProbe


def test_brokers_are_asked_as_the_configuration_says(kafka_broker: str) -> None:
    assert KafkaProbe(kafka_broker).fault() is None
    # It talks plaintext only.
    assert KafkaProbe(kafka_broker, {"security.protocol": "ssl"}).fault(timeout_s=2) is not None


def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InputError, match=r"\[kafka\] can't be used: .*FOO"):
        KafkaProbe("127.0.0.1:1", {"security.protocol": "sasl_plaintext", "sasl.mechanism": "FOO"})
