"""That the files for those who work in the repository are what GitHub reads."""

from pathlib import Path

import pytest
import yaml

from tests.test_compose import tool

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("github-workflows", sorted(GITHUB.glob("workflows/*.yaml"))),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ],
)
def test_what_github_reads_fits_its_schema(schema: str, paths: list[Path]) -> None:
    assert paths
    tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)


def test_faults_are_reported_with_what_the_doctor_says() -> None:
    for path in FORMS:
        form = yaml.safe_load(path.read_text())
        fields = {field["id"]: field for field in form["body"]}
        if path.stem != "wish":
            assert fields["doctor"]["attributes"]["label"] == "metatide doctor --json"
            assert fields["doctor"]["validations"]["required"]


def test_the_workflow_runs_what_continuous_integration_runs() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "checks.yaml").read_text())
    [step] = (step for step in workflow["jobs"]["checks"]["steps"] if "run" in step)
    assert step["run"] == ".ci/run"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
