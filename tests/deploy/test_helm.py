"""The Helm chart: what it makes of values, and what it refuses."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.helm import CHART, EXAMPLES, helm, kubeconform, rendered, template, write_schemas

pytestmark = pytest.mark.helm

SMALL = CHART / "examples" / "small.yaml"
examples = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
Values = dict[str, Any]


def limit(memory: int | str | None) -> Values:
    return {"workers": {"resources": {"limits": {"memory": memory}}}}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    write_schemas(folder)
    return folder


@examples
def test_an_example_passes_the_linter(example: Path) -> None:
    done = helm("lint", "--strict", CHART, f"--values={example}")
    assert done.returncode == 0, done.stdout + done.stderr


@examples
def test_kubernetes_knows_every_field_of_an_example(example: Path, schemas: Path) -> None:
    assert kubeconform(rendered(example), schemas) == ""


def test_a_field_that_kubernetes_does_not_know_is_found(schemas: Path) -> None:
    for each in rendered(CHART / "examples" / "three-zones.yaml"):
        wrong = {**each, "spec": {**each.get("spec", {}), "nonsense": 1}}
        assert kubeconform([wrong], schemas) != "", each["kind"]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"worker": {}}, "Additional property worker is not allowed"),
        ({"config": {"kafka": {"bootstrap_server": "a:1"}}}, "bootstrap_server is not allowed"),
        ({"config": {"kafka": {"partitions": 0}}}, "config.kafka.partitions"),
        ({"config": {"kafka": {"bootstrap_servers": "kafka"}}}, "config.kafka.bootstrap_servers"),
        ({"config": {"kafka": {"sasl_password": "a"}}}, "sasl_password is not allowed"),
        ({"config": {"database": {"url": "postgresql://a:b@c:1/d"}}}, "config.database.url"),
        ({"config": {"worker": {"port": 9000}}}, "port is not allowed"),
        ({"config": {"thrift": {"port": 8080}}}, "config.thrift.port"),
        ({"config": {"thrift": {"http_port": 8080}}}, "config.thrift.http_port"),
        ({"config": {"thrift": {"port": 90, "http_port": 90}}}, "give each a port of its own"),
        ({"files": {"reads.tls_key": {"secret": "a"}}}, "key is required"),
        ({"files": {"database.url": {"secret": "a", "key": "b"}}}, "database.url is not allowed"),
        (
            {"files": {"reads.tls_key": {"secret": "a", "configMap": "b", "key": "c"}}},
            "Must validate one and only one schema",
        ),
        ({"config": {"state": {"memory_mib": 600}}}, "500 MiB need 1100Mi"),
        ({"config": {"state": {"memory_mib": 4096}}} | limit("2G"), "500 MiB need 4596Mi"),
        (limit(659 << 20), "500 MiB need 660Mi"),
        ({"config": {"state": {"memory_mib": 3 << 20}}} | limit("2Ti"), "500 MiB need 3146228Mi"),
        (limit("659Mi"), "500 MiB need 660Mi"),
        (limit("674816Ki"), "500 MiB need 660Mi"),
        (limit("692060159"), "500 MiB need 660Mi"),
        (limit("0.6Gi"), "500 MiB need 660Mi"),
        (limit("1024m"), "1024m: give a quantity of memory in Mi or Gi"),
        ({"serve": {"enabled": True}}, "config.images.url is needed"),
        ({"spark": {"arguments": []}}, "spark.arguments"),
        ({"spark": {"deadlineS": 0}}, "spark.deadlineS"),
        ({"workers": {"replicas": 0}}, "workers.replicas"),
        ({"workers": {"storage": {"size": "much"}}}, "workers.storage.size"),
        ({"workers": {"topologySpread": "Maybe"}}, "workers.topologySpread"),
        ({"networkPolicy": {"clients": [{}]}}, "networkPolicy.clients.0"),
    ],
)
def test_wrong_values_are_refused(values: Values, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    done = template(SMALL, path)
    assert done.returncode != 0
    assert fault in done.stderr


@pytest.mark.parametrize(
    "memory", [660 << 20, "660Mi", "675840Ki", "693M", "692060160", "2T", None]
)
def test_a_limit_that_suffices_is_taken(memory: int | str | None, tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(limit(memory)))
    assert template(SMALL, path).stderr == ""


def test_brokers_and_database_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    assert "config.kafka.bootstrap_servers is needed" in template().stderr
    path.write_text(yaml.safe_dump({"config": {"kafka": {"bootstrap_servers": "kafka:9092"}}}))
    assert "config.database.url is needed" in template(path).stderr


@pytest.mark.parametrize(
    ("values", "expected"),
    [({}, "metatide:0.1.0-spark"), ({"image": "own:1"}, "own:1")],
)
def test_jobs_on_spark_have_an_image_of_their_own(
    values: Values, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump({"spark": {"enabled": True, **values}}))
    [job] = (each for each in rendered(SMALL, path) if each["kind"] == "CronJob")
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == expected


def test_workers_are_upgraded_before_connectors(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump({"image": {"tag": "2"}, "connectors": {"imageTag": "1"}}))
    images = {
        each["kind"]: each["spec"]["template"]["spec"]["containers"][0]["image"]
        for each in rendered(SMALL, path)
        if each["kind"] in ("Deployment", "StatefulSet")
    }
    assert images == {"Deployment": "metatide:1", "StatefulSet": "metatide:2"}


def test_another_release_of_the_chart_leaves_connectors_as_they_are(tmp_path: Path) -> None:
    path, chart = tmp_path / "values.yaml", shutil.copytree(CHART, tmp_path / "chart")
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    path.write_text(yaml.safe_dump({"connectors": {"imageTag": described["appVersion"]}}))
    before = rendered(SMALL, path, chart=chart)
    described |= {"version": "9.9.9", "appVersion": "9.9.9"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(described))
    after = rendered(SMALL, path, chart=chart)
    for kind, same in (("Deployment", True), ("StatefulSet", False)):
        templates = [
            each["spec"]["template"]
            for objects in (before, after)
            for each in objects
            if each["kind"] == kind
        ]
        assert (templates[0] == templates[1]) is same
