from pathlib import Path

import pytest

from hive.errors import InputError
from metatide.stack.kafka import Kafka, KafkaProbe
from metatide.stack.ports import Ports


def test_brokers_are_asked_as_the_configuration_says(kafka_broker: str) -> None:
    assert KafkaProbe(kafka_broker).fault() is None
    # It talks plaintext only.
    assert KafkaProbe(kafka_broker, {"security.protocol": "ssl"}).fault(timeout_s=2) is not None


def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InputError, match=r"\[kafka\] can't be used: .*FOO"):
        KafkaProbe("127.0.0.1:1", {"security.protocol": "sasl_plaintext", "sasl.mechanism": "FOO"})


@pytest.mark.parametrize("name", ["andré", "Ω 🌊", "back\\slash"])
def test_a_broker_keeps_its_data_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / "kafka"
    Kafka(folder, Ports(tmp_path / "ports.json")).prepare()
    assert (folder / "data" / "meta.properties").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["ports.json", name])


def test_a_broker_that_runs_for_long_is_compiled_by_both_compilers(tmp_path: Path) -> None:
    def options(name: str, **chosen: bool) -> set[str]:
        ports = Ports(tmp_path / "ports.json")
        return set(Kafka(tmp_path / name, ports, **chosen).prepare().argv)

    assert "-XX:TieredStopAtLevel=1" in options("default")
    assert "-XX:TieredStopAtLevel=1" not in options("long", optimizes=True)


def test_a_folder_with_a_comma_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in .*/a,b: its name has a comma; choose another"):
        Kafka(tmp_path / "a,b", Ports(tmp_path / "ports.json"))
