"""That the objects of the Helm chart fit each other, and what Metatide has."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from prometheus_client import CollectorRegistry

from connectors import health
from connectors.connector import Status
from metatide.cli import root
from metatide.monitoring.alerts import ALERTS
from metatide.worker.application import _health_routes
from query_api.http.app import _status_routes
from tests.deploy.helm import EXAMPLES, NAMESPACE, ROOT, Object, rendered
from tests.metatide.monitoring import promql
from tests.support import local_http

pytestmark = pytest.mark.helm

DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def values(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


@pytest.fixture
def objects(values: Path) -> Sequence[Object]:
    return rendered(values)


def named(objects: Sequence[Object], kind: str) -> Mapping[str, Any]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def templates(objects: Sequence[Object]) -> Iterator[Mapping[str, Any]]:
    """Those of all pods."""
    for each in objects:
        if each["kind"] in ("Deployment", "StatefulSet"):
            yield each["spec"]["template"]
        elif each["kind"] == "CronJob":
            yield each["spec"]["jobTemplate"]["spec"]["template"]


def containers(objects: Sequence[Object]) -> Iterator[Mapping[str, Any]]:
    for pod in templates(objects):
        [container] = pod["spec"]["containers"]
        yield container


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_names_are_used_once(objects: Sequence[Object]) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("release", ["r" * 53, f"{'r' * 44}-release", "metatide"])
def test_names_are_as_short_as_kubernetes_needs_them(values: Path, release: str) -> None:
    for each in rendered(values, release=release):
        name = each["metadata"]["name"]
        # What a controller makes has a longer name, or has this one in a label with more.
        limits = {"Service": 63, "StatefulSet": 52, "CronJob": 52}
        assert len(name) <= limits.get(each["kind"], 253), name
        assert re.fullmatch(r"[a-z]([a-z-]*[a-z])?", name)
        assert "--" not in name


def test_what_selects_pods_selects_those_of_one_role(objects: Sequence[Object]) -> None:
    labels = [pod["metadata"]["labels"] for pod in templates(objects)]
    for each in objects:
        spec = each.get("spec", {})
        if each["kind"] == "Service":
            selector = spec["selector"]
        elif each["kind"] == "NetworkPolicy":
            selector = spec["podSelector"]["matchLabels"]
        elif each["kind"] in ("Deployment", "StatefulSet", "PodDisruptionBudget"):
            selector = spec["selector"]["matchLabels"]
        else:
            continue
        assert len([each for each in labels if selects(selector, each)]) == 1, each["metadata"]
    for pod in templates(objects):
        for spread in pod["spec"].get("topologySpreadConstraints", []):
            assert selects(spread["labelSelector"]["matchLabels"], pod["metadata"]["labels"])


def test_every_role_has_a_policy_and_each_replica_a_budget(objects: Sequence[Object]) -> None:
    for each in objects:
        name = each["metadata"]["name"]
        if each["kind"] in ("Deployment", "StatefulSet"):
            assert each["spec"]["replicas"] > 1
            budget = named(objects, "PodDisruptionBudget")[name]["spec"]
            assert budget["maxUnavailable"] == 1
            assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        if each["kind"] in ("Deployment", "StatefulSet", "CronJob"):
            assert named(objects, "NetworkPolicy")[name]["spec"]["policyTypes"] == ["Ingress"]


def test_ports_are_those_of_the_containers(objects: Sequence[Object]) -> None:
    ports = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: {
            port["name"]: port["containerPort"]
            for port in pod["spec"]["containers"][0].get("ports", [])
        }
        for pod in templates(objects)
    }
    for service in named(objects, "Service").values():
        role = service["spec"]["selector"]["app.kubernetes.io/component"]
        for port in service["spec"]["ports"]:
            assert ports[role][port["targetPort"]] == port["port"]
    for policy in named(objects, "NetworkPolicy").values():
        role = policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policy["spec"]["ingress"]:
            assert {port["port"] for port in rule["ports"]} <= ports[role].keys()


def test_readers_reach_every_port_of_a_worker(values: Path, objects: Sequence[Object]) -> None:
    for name, workers in named(objects, "StatefulSet").items():
        [container] = workers["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        service = named(objects, "Service")[name]["spec"]
        assert {port["name"] for port in service["ports"]} == ports
        for rule in named(objects, "NetworkPolicy")[name]["spec"]["ingress"]:
            if rule["from"] != monitoring_of(values):
                assert {port["port"] for port in rule["ports"]} == ports
        thrift = config_of(objects)["thrift"]
        configured = {thrift[key] for key in ("port", "http_port") if key in thrift}
        assert {port["port"] for port in service["ports"]} == {8080, *configured}


def test_monitoring_reaches_the_port_of_metrics_alone(
    values: Path, objects: Sequence[Object]
) -> None:
    for name, policy in named(objects, "NetworkPolicy").items():
        rules = policy["spec"]["ingress"]
        for peer in monitoring_of(values):
            reached = [
                each["port"] for rule in rules if peer in rule["from"] for each in rule["ports"]
            ]
            assert reached == ([] if name.endswith("-spark") else ["http"])


def monitoring_of(values: Path) -> list[Any]:
    """Whose Prometheus is let in."""
    policy: Mapping[str, Any] = yaml.safe_load(values.read_text()).get("networkPolicy", {})
    return [*policy.get("monitoring", [])]


def config_of(objects: Sequence[Object]) -> dict[str, Any]:
    [text] = (
        each["data"]["metatide.toml"]
        for each in named(objects, "ConfigMap").values()
        if "metatide.toml" in each["data"]
    )
    return tomllib.loads(text)


def test_workers_advertise_names_that_a_service_gives(objects: Sequence[Object]) -> None:
    for name, workers in named(objects, "StatefulSet").items():
        service = named(objects, "Service")[workers["spec"]["serviceName"]]
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["publishNotReadyAddresses"] is True
        environ = workers["spec"]["template"]["spec"]["containers"][0]["env"]
        # A variable may refer to those before it.
        assert [each["name"] for each in environ[:2]] == [
            "METATIDE_WORKER_NAME",
            "METATIDE_WORKER_ADVERTISED_HOST",
        ]
        host = f"$(METATIDE_WORKER_NAME).{name}-members.data.svc.cluster.local"
        assert environ[1]["value"] == host


def test_volumes_that_are_mounted_are_there(values: Path, objects: Sequence[Object]) -> None:
    claims = {
        claim["metadata"]["name"]
        for workers in named(objects, "StatefulSet").values()
        for claim in workers["spec"]["volumeClaimTemplates"]
    }
    for pod in templates(objects):
        spec = pod["spec"]
        [container] = spec["containers"]
        volumes = {volume["name"] for volume in spec["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.keys() - volumes <= claims
        assert volumes <= mounts.keys()
        assert len({*mounts.values()}) == len(mounts)
        [config] = (each for each in spec["volumes"] if each["name"] == "config")
        assert config["configMap"]["name"] in named(objects, "ConfigMap")
    files = yaml.safe_load(values.read_text())["files"]
    sources = [
        source
        for pod in templates(objects)
        for volume in pod["spec"]["volumes"]
        for source in volume.get("projected", {}).get("sources", [])
    ]
    mounted = {
        item["path"]: {kind: source[kind]["name"], "key": item["key"]}
        for source in sources
        for kind in ("configMap", "secret")
        if kind in source
        for item in source[kind]["items"]
    }
    assert mounted == files


def test_pods_run_without_rights_and_without_variables_of_services(
    objects: Sequence[Object],
) -> None:
    [user, group] = re.findall(r"^USER (\d+):(\d+)", DOCKERFILE, re.MULTILINE)[0]
    for pod in templates(objects):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsUser"] == int(user)
        assert spec["securityContext"]["fsGroup"] == int(group)
        assert spec["enableServiceLinks"] is False
        assert spec["automountServiceAccountToken"] is False
        [container] = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


def test_commands_are_metatides(objects: Sequence[Object]) -> None:
    for container in containers(objects):
        command: click.Command = root
        context, arguments = None, [*container["args"]]
        while isinstance(command, click.Group):
            context = click.Context(command, context, "metatide")
            _, inner, arguments = command.resolve_command(context, arguments)
            assert inner is not None
            command = inner
        assert command.make_context(command.name, arguments, parent=context).args == []


def test_a_job_that_hangs_does_not_hold_up_others_for_ever(objects: Sequence[Object]) -> None:
    for job in named(objects, "CronJob").values():
        assert job["spec"]["concurrencyPolicy"] == "Forbid"
        assert job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 21600


def test_probes_ask_what_there_is(objects: Sequence[Object]) -> None:
    with health.serving("127.0.0.1", 0, Status(), CollectorRegistry()) as (host, port):
        for container in containers(objects):
            probes = {name: each for name, each in container.items() if name.endswith("Probe")}
            assert len(probes) == (0 if container["name"] == "spark" else 3)
            for probe in probes.values():
                path = probe["httpGet"]["path"]
                if container["name"] == "connector":
                    assert local_http.get(f"http://{host}:{port}{path}").status_code != 404
                else:
                    assert path in paths_of(container["name"])


def paths_of(role: str) -> set[str]:
    """What a worker and serve answer about themselves."""
    missing: Any = None
    routes = _health_routes(missing) if role == "worker" else _status_routes(missing)
    return {getattr(route, "path", "") for route in routes}


def test_monitoring_knows_the_jobs_of_the_alerts() -> None:
    objects = rendered(*(path for path in EXAMPLES if path.stem == "three-zones"))
    services = named(objects, "Service").values()
    jobs = set()
    for monitor in named(objects, "ServiceMonitor").values():
        selector = monitor["spec"]["selector"]["matchLabels"]
        [service] = (each for each in services if selects(selector, each["metadata"]["labels"]))
        jobs.add(service["metadata"]["labels"][monitor["spec"]["jobLabel"]])
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports
    rules = rules_of(objects)
    assert jobs == {job for expr in rules.values() for job in re.findall(r'job="(\w+)"', expr)}
    assert rules.keys() == {f"Metatide{alert.name}" for alert in ALERTS if alert.part != "serve"}
    boards = {name for each in named(objects, "ConfigMap").values() for name in each["data"]}
    dashboards = {path.name for path in (ROOT / "compose" / "grafana" / "dashboards").iterdir()}
    assert boards == dashboards | {"metatide.toml"}


def rules_of(objects: Sequence[Object]) -> Mapping[str, str]:
    """The expressions by the name of their alert."""
    [rule] = named(objects, "PrometheusRule").values()
    groups = rule["spec"]["groups"]
    return {each["alert"]: each["expr"] for group in groups for each in group["rules"]}


@pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)
def test_alerts_look_at_what_the_release_runs_and_at_nothing_else(
    values: Path, tmp_path: Path
) -> None:
    monitored = tmp_path / "monitored.yaml"
    monitored.write_text("monitoring: {enabled: true}")
    objects = rendered(values, monitored)
    monitors = named(objects, "ServiceMonitor")
    rules = rules_of(objects)
    for expr in rules.values():
        for selector in promql.named(expr).selectors:
            labels = {label: (how, value) for label, how, value in selector.matchers}
            assert labels["namespace"] == ("=", NAMESPACE)
            how, services = labels["service"]
            assert how == "=~"
            assert all(re.fullmatch(services, name) for name in monitors)
    parts = {name.rpartition("-")[2] for name in monitors}
    parts |= {"reads"} if parts & {"worker", "serve"} else set()
    assert rules.keys() == {f"Metatide{alert.name}" for alert in ALERTS if alert.part in parts}


def test_the_chart_is_of_this_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "metatide" / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == project["version"]
