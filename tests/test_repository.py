"""That the files for those who work in the repository are what GitHub reads."""

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.checkout import DOCKERFILES, ROOT, run_tool
from tests.support.distributions import closure
from tests.support.hive.matrix import FOLLOWED

GITHUB = ROOT / ".github"
FORMS = sorted(path for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("github-workflows", sorted(GITHUB.glob("workflows/*.yaml"))),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ],
)
def test_what_github_reads_fits_its_schema(schema: str, paths: list[Path]) -> None:
    assert paths
    run_tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)


def test_faults_are_reported_with_what_the_doctor_says() -> None:
    for path in FORMS:
        form = yaml.safe_load(path.read_text())
        fields = {field["id"]: field for field in form["body"]}
        if path.stem != "feature_request":
            assert fields["doctor"]["attributes"]["label"] == "metatide doctor --json"
            assert fields["doctor"]["validations"]["required"]


def test_the_workflow_runs_what_continuous_integration_runs() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "checks.yaml").read_text())
    [step] = (step for step in workflow["jobs"]["checks"]["steps"] if "run" in step)
    assert step["run"] == ".ci/run"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


@pytest.mark.parametrize("project", ["pyproject.toml", "packages/client/pyproject.toml"])
def test_each_python_that_a_package_names_is_checked(project: str) -> None:
    text = (ROOT / project).read_text()
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    workflow = yaml.safe_load((GITHUB / "workflows" / "checks.yaml").read_text())
    [job] = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == supported
    assert job["container"]["image"] == "python:${{ matrix.python }}-bookworm"
    assert f'requires-python = ">={supported[0]}"' in text
    others = job["strategy"]["matrix"]["include"]
    assert [other["machine"] for other in others] == ["ubuntu-24.04-arm"]


def test_the_pull_request_of_the_lock_is_checked() -> None:
    """GitHub starts no workflow for what a workflow's own token does, unless it is dispatched."""
    [job] = yaml.safe_load((GITHUB / "workflows" / "lock.yaml").read_text())["jobs"].values()
    lines = job["steps"][-1]["run"].splitlines()
    branch = lines[lines.index("gh pr create --fill") - 1].split()[-1]
    assert lines[-1] == f"gh workflow run checks.yaml --ref {branch}"
    assert job["permissions"]["actions"] == "write"
    # YAML reads a bare `on` as true.
    assert (
        "workflow_dispatch"
        in yaml.safe_load((GITHUB / "workflows" / "checks.yaml").read_text())[True]
    )


def test_all_jobs_share_a_cache_without_images() -> None:
    jobs = [
        job
        for path in GITHUB.glob("workflows/*.yaml")
        for job in yaml.safe_load(path.read_text())["jobs"].values()
    ]
    steps = [step for job in jobs for step in job["steps"]]
    caches = [step["with"] for step in steps if "actions/cache" in step.get("uses", "")]
    assert len(caches) == 3
    assert all(cache == caches[0] for cache in caches)
    assert "!~/.cache/metatide/containers/engine" in caches[0]["path"].split()


def test_each_night_all_that_takes_turns_is_run() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "nightly.yaml").read_text())
    step = workflow["jobs"]["turns"]["steps"][-1]
    assert step["run"] == "make test-more ALL=1 --keep-going"
    # A skipped test is a failed one only with it.
    assert step["env"]["CI"] == "true"


def test_each_night_no_long_run_is_left_out() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "nightly.yaml").read_text())
    parts = [part.split() for part in workflow["jobs"]["torture"]["strategy"]["matrix"]["tests"]]
    [others] = [part for part in parts if part[0].startswith("--ignore=")]
    named = {word for part in parts for word in part if word.startswith("tests/")}
    assert {word.removeprefix("--ignore=") for word in others} == named
    releases = [part[2] for part in parts if part[:2] == ["tests/differential", "-k"]]
    assert sorted(releases) == sorted({row.release for row in FOLLOWED})


@pytest.mark.parametrize("workflow", sorted(GITHUB.glob("workflows/*.yaml")), ids=lambda w: w.stem)
def test_workflows_run_what_there_is(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    runs = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert runs
    lines = [line.split() for run in runs for line in run.splitlines()]
    targets = {words[1] for words in lines if words[0] == "make"}
    makefile = (ROOT / "Makefile").read_text()
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
    programs = [words[0] for words in lines if words[0].startswith((".", "scripts/"))]
    assert [program for program in programs if not (ROOT / program).stat().st_mode & 0o100] == []


@pytest.mark.parametrize(
    "path", [".github/workflows/release.yaml", "compose/images.yaml", "docs/compose.md"]
)
def test_images_for_each_architecture_are_built_from_the_checkout(path: str) -> None:
    """Bake takes a compose file's context from the working directory, Compose from the file's."""
    text = (ROOT / path).read_text().replace("\\\n", "")
    commands = re.findall(r"docker buildx bake[^`\n]*", text)
    assert commands
    assert [command for command in commands if ' --set "*.context=." ' not in f"{command} "] == []


def test_each_image_that_is_named_by_its_release_is_renewed() -> None:
    updates = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    folders = [each["directory"] for each in updates if each["package-ecosystem"] == "docker"]
    named = [
        f"/{path.parent.relative_to(ROOT)}"
        for path in DOCKERFILES
        if re.search(r"^FROM \S+:\S*\d", path.read_text(), re.MULTILINE)
    ]
    assert folders == named != []


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ("v9.9.9", "the tag is v9.9.9, but the version in pyproject.toml is 0.1.0"),
        ("v0.1.0", "CHANGELOG.md has no chapter '## 0.1.0'"),
    ],
)
def test_a_release_is_refused_that_contradicts_itself(tag: str, fault: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "release", tag], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"metatide: {fault}")


def test_the_bill_of_materials_names_all_that_is_needed() -> None:
    python = ROOT / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, ROOT / "scripts" / "bill_of_materials.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    bill = json.loads(done.stdout)
    purls = {component["purl"] for component in bill["components"]}
    assert len(purls) == len(bill["components"])
    expected = {
        f"pkg:pypi/{distribution.name.lower().replace('_', '-')}@{distribution.version}"
        for distribution in closure("metatide", {"spark", "embedded", "otel", "jwt"})
    }
    of_packages = {purl for purl in purls if purl.startswith("pkg:pypi/")}
    others = {purl.partition("@")[0].removeprefix("pkg:pypi/") for purl in of_packages - expected}
    assert expected < of_packages
    # Of two extras that no environment of this project has installed.
    assert {"gssapi", "decorator", "aws-msk-iam-sasl-signer-python", "boto3"} < others
    extras = importlib.metadata.metadata("metatide").get_all("Provides-Extra") or []
    assert {*extras} == {"spark", "embedded", "otel", "jwt", "kerberos", "msk"}
    assert not others & {purl.partition("@")[0].removeprefix("pkg:pypi/") for purl in expected}
    assert any(purl.startswith("pkg:maven/org.apache.kafka/kafka_2.13@") for purl in purls)
    locks = (ROOT / "metatide" / "stack" / "jarsets").glob("*.lock")
    hashes = {line.split()[0] for path in locks for line in path.read_text().splitlines()}
    listed = [one["hashes"][0]["content"] for one in bill["components"] if "hashes" in one]
    assert set(listed) == hashes
