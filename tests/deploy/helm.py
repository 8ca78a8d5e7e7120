"""Helm, kubeconform, and the schemas of Kubernetes: fetched or built once and kept in the cache.

`python -m tests.deploy.helm` makes them all.
"""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from metatide.config.paths import cache_dir
from tests.support.go_programs import go_program, module_files
from tests.support.locked_packages import package_folder

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "helm" / "metatide"
EXAMPLES: Final = sorted((CHART / "examples").glob("*.yaml"))
RELEASE, NAMESPACE = "tide", "data"
Object = Mapping[str, Any]

_HELM: Final = "v3.17.3"
_KUBECONFORM: Final = "v0.6.7"
KUBERNETES: Final = "1.31.3"
_OPERATOR: Final = "v0.78.2"
MODULES: Final = cache_dir() / "go"


def helm(
    *arguments: str | Path, kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    where = {} if kubeconfig is None else {"KUBECONFIG": str(kubeconfig)}
    return subprocess.run(
        [_helm_program(), *arguments],
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        check=False,
    )


def _helm_program() -> Path:
    # The package saves minutes of compiling, but is of no other machine.
    if platform.machine() == "x86_64":
        return package_folder("helm", 3) / "bin" / "helm"
    return go_program(MODULES / f"helm-{_HELM}", "helm.sh/helm/v3/cmd/helm", _HELM)


def rendered(*values: Path, chart: Path = CHART, release: str = RELEASE) -> Sequence[Object]:
    """The objects that the chart makes of these files of values."""
    done = template(*values, chart=chart, release=release)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each is not None]


def template(
    *values: Path, chart: Path = CHART, release: str = RELEASE
) -> subprocess.CompletedProcess[str]:
    options = [f"--values={path}" for path in values]
    where = [f"--namespace={NAMESPACE}", f"--kube-version={KUBERNETES}"]
    return helm("template", release, chart, *where, *options)


def notes(folder: Path, *values: Path) -> str:
    """What is printed after an installation, rendered in a copy of the chart, since Helm alone
    prints it only where there is a cluster.
    """
    chart = shutil.copytree(CHART, folder / "chart")
    text = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text(f'{{{{ define "notes" }}}}{text}{{{{ end }}}}')
    (chart / "templates" / "notes.yaml").write_text('notes: {{ include "notes" . | toJson }}\n')
    [shown] = (each["notes"] for each in rendered(*values, chart=chart) if "notes" in each)
    return str(shown)


def kubeconform(objects: Sequence[Object], schemas: Path) -> str:
    """What kubeconform finds wrong."""
    package = "github.com/yannh/kubeconform/cmd/kubeconform"
    program = go_program(MODULES / f"kubeconform-{_KUBECONFORM}", package, _KUBECONFORM)
    where = f"{schemas}/{{{{.Group}}}}_{{{{.ResourceAPIVersion}}}}_{{{{.ResourceKind}}}}.json"
    done = subprocess.run(
        [program, "-strict", "-schema-location", where, "-"],
        input=yaml.safe_dump_all(objects),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def write_schemas(folder: Path) -> None:
    """JSON Schemas of all kinds of Kubernetes and of the Prometheus operator, which allow no field
    that isn't there.
    """
    source = module_files(
        MODULES / f"kubernetes-{KUBERNETES}",
        "k8s.io/kubernetes",
        f"v{KUBERNETES}",
        ["api/openapi-spec/swagger.json"],
    )
    definitions = json.loads((source / "swagger.json").read_text())["definitions"]
    for name, definition in definitions.items():
        if definition.get("format") == "int-or-string":
            definitions[name] = {"type": ["string", "integer"]}
        elif "properties" in definition:
            definition["additionalProperties"] = False
    (folder / "definitions.json").write_text(json.dumps({"definitions": definitions}))
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", []):
            reference = {"$ref": f"definitions.json#/definitions/{name}"}
            _write(folder, kind["group"], kind["version"], kind["kind"], reference)
    for path in operator_resources().iterdir():
        spec = yaml.safe_load(path.read_text())["spec"]
        for version in spec["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            _write(folder, spec["group"], version["name"], spec["names"]["kind"], _strict(schema))


def operator_resources() -> Path:
    return module_files(
        MODULES / f"prometheus-operator-{_OPERATOR}",
        "github.com/prometheus-operator/prometheus-operator",
        _OPERATOR,
        [
            f"example/prometheus-operator-crd/monitoring.coreos.com_{kinds}.yaml"
            for kinds in ("prometheusrules", "servicemonitors")
        ],
    )


def _strict(schema: Any) -> Any:
    """A schema with no other properties than those that it names."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _strict(each) for name, each in schema.items()}
    if inner.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    if isinstance(inner.get("properties"), dict) and inner["properties"].get("spec") is None:
        inner.setdefault("additionalProperties", False)
    return inner


def _write(folder: Path, group: str, version: str, kind: str, schema: Object) -> None:
    # kubeconform takes the version for the name of the group that has none.
    (folder / f"{group or version}_{version}_{kind.lower()}.json").write_text(json.dumps(schema))


if __name__ == "__main__":
    print(helm("version", "--short").stdout.strip())
    schemas_folder = MODULES / "schemas"
    schemas_folder.mkdir(parents=True, exist_ok=True)
    write_schemas(schemas_folder)
    print(kubeconform(rendered(EXAMPLES[0]), schemas_folder) or "all is valid")
