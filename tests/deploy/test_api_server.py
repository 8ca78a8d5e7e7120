"""The chart at a real API server: what it refuses, what it admits, installation and upgrade."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.api_server import Api, api_server
from tests.deploy.helm import (
    CHART,
    EXAMPLES,
    NAMESPACE,
    RELEASE,
    Object,
    helm,
    operator_resources,
    rendered,
)

pytestmark = [
    pytest.mark.helm,
    pytest.mark.timeout(1800),
    pytest.mark.by_turns(3, of="large parts"),
]

SMALL = CHART / "examples" / "small.yaml"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
"""The strictest of Kubernetes' standards for pods."""
SIZES = {
    "replicas": 5,
    "resources": {"requests": {"cpu": "2", "memory": "6Gi"}, "limits": {"memory": "6Gi"}},
}
CHANGES = {
    "image": {"tag": "next"},
    "config": {"kafka": {"topic": "another"}, "state": {"memory_mib": 3000}},
    "connectors": {"imageTag": "before", "replicas": 3},
    "workers": SIZES,
    "serve": SIZES,
    "networkPolicy": {"enabled": False},
}
"""What an upgrade may change."""
examples = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """A server that knows the Prometheus operator's kinds, with a namespace for the chart."""
    with api_server() as api:
        for path in operator_resources().iterdir():
            accepted(api, yaml.safe_load(path.read_text()))
        metadata = {"name": NAMESPACE, "labels": RESTRICTED}
        accepted(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        until_established(api)
        yield api


def accepted(api: Api, value: Object) -> None:
    answer = api.apply(value)
    assert answer.status_code in (200, 201), answer.text


def until_established(api: Api) -> None:
    for path in operator_resources().iterdir():
        definition = yaml.safe_load(path.read_text())
        while not any(
            condition["type"] == "Established" and condition["status"] == "True"
            for condition in api.get(definition).get("status", {}).get("conditions", [])
        ):
            pass


def placed(objects: Sequence[Object]) -> Iterator[dict[str, Any]]:
    """The objects in the namespace, as `kubectl apply --namespace` puts them there."""
    for each in objects:
        yield {**each, "metadata": {**each["metadata"], "namespace": NAMESPACE}}


def pods(objects: Sequence[Object]) -> Iterator[dict[str, Any]]:
    """A pod of each template, with a claim where a StatefulSet would make one."""
    for each in objects:
        spec = each.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template is not None:
            pod = deepcopy(template)
            name = f"{each['metadata']['name']}-0"
            pod["metadata"] |= {"name": name, "namespace": NAMESPACE}
            for claim in spec.get("volumeClaimTemplates", []):
                volume = claim["metadata"]["name"]
                source = {"claimName": f"{volume}-{name}"}
                pod["spec"]["volumes"].append({"name": volume, "persistentVolumeClaim": source})
            yield {"apiVersion": "v1", "kind": "Pod", **pod}


@examples
def test_objects_are_accepted_and_unknown_fields_are_not(api: Api, example: Path) -> None:
    for each in placed(rendered(example)):
        answer = api.apply(each, dry_run=True)
        assert answer.status_code in (200, 201), f"{each['kind']}: {answer.text}"
        field = "data" if each["kind"] == "ConfigMap" else "metadata"
        wrong = {**each, field: {**each[field], "nonsense": {"a": 1}}}
        assert api.apply(wrong, dry_run=True).status_code in (400, 422, 500), each["kind"]


@examples
def test_an_example_is_installed_upgraded_and_removed(
    api: Api, example: Path, tmp_path: Path
) -> None:
    where: list[str | Path] = [RELEASE, CHART, f"--namespace={NAMESPACE}", f"--values={example}"]
    done = helm("install", *where, "--dry-run=server", kubeconfig=api.kubeconfig)
    assert done.returncode == 0, done.stderr
    done = helm("install", *where, kubeconfig=api.kubeconfig)
    assert done.returncode == 0, done.stderr
    try:
        for pod in pods(rendered(example)):
            answer = api.apply(pod, dry_run=True)
            assert answer.status_code == 201, answer.text
        changed = tmp_path / "changed.yaml"
        changed.write_text(yaml.safe_dump(CHANGES))
        done = helm("upgrade", *where, f"--values={changed}", kubeconfig=api.kubeconfig)
        assert done.returncode == 0, done.stderr
        for each in placed(rendered(example, changed)):
            assert contains(api.get(each), each) == []
    finally:
        done = helm("uninstall", RELEASE, f"--namespace={NAMESPACE}", kubeconfig=api.kubeconfig)
    assert done.returncode == 0, done.stderr


def contains(stored: Any, wanted: Any, path: str = "") -> list[str]:
    """Where the stored object differs from what was wanted; it may hold more."""
    if isinstance(wanted, Mapping):
        if not isinstance(stored, Mapping):
            return [path]
        return [
            fault
            for name, value in wanted.items()
            for fault in contains(stored.get(name), value, f"{path}.{name}")
        ]
    if isinstance(wanted, list):
        if not isinstance(stored, list) or len(stored) != len(wanted):
            return [path] if wanted or stored else []
        pairs = enumerate(zip(stored, wanted, strict=True))
        return [fault for number, pair in pairs for fault in contains(*pair, f"{path}[{number}]")]
    return [] if stored == wanted or (not stored and not wanted) else [path]


def test_an_upgrade_does_not_change_the_size_of_volumes(api: Api, tmp_path: Path) -> None:
    where: list[str | Path] = [RELEASE, CHART, f"--namespace={NAMESPACE}", f"--values={SMALL}"]
    assert helm("install", *where, kubeconfig=api.kubeconfig).returncode == 0
    done = helm("upgrade", *where, "--set=workers.storage.size=9Gi", kubeconfig=api.kubeconfig)
    assert "spec: Forbidden: updates to statefulset spec" in done.stderr
    done = helm("uninstall", RELEASE, f"--namespace={NAMESPACE}", kubeconfig=api.kubeconfig)
    assert done.returncode == 0, done.stderr


@examples
@pytest.mark.parametrize("level", ["container", "pod"])
def test_a_pod_with_more_rights_is_not_admitted(api: Api, example: Path, level: str) -> None:
    objects = rendered(example)
    [account] = (each for each in placed(objects) if each["kind"] == "ServiceAccount")
    accepted(api, account)
    for pod in pods(objects):
        changed = pod["spec"] if level == "pod" else pod["spec"]["containers"][0]
        del changed["securityContext"]
        answer = api.apply(pod, dry_run=True)
        assert answer.status_code == 403
        assert "violates PodSecurity" in answer.json()["message"]
    api.delete(account)
