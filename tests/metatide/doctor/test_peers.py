"""That it is told whether workers can know each other."""

from dataclasses import replace
from pathlib import Path

from metatide.config import load
from metatide.doctor import Status, Target, find_target
from metatide.doctor.peers import secret

NOTHING = Target(None, "metatide", 16, None, None)


def test_guarded_reads_want_a_secret() -> None:
    assert secret(NOTHING).status is Status.UNCHECKED
    finding = secret(replace(NOTHING, needs_workers_secret=True))
    assert finding.status is Status.FAILED
    assert "worker.secret_file" in (finding.remedy or "")


def test_a_secret_is_tried(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    target = replace(NOTHING, needs_workers_secret=True, workers_secret=path)
    assert secret(target).status is Status.FAILED
    path.write_text("short")
    assert secret(target).status is Status.FAILED
    path.write_text("5" * 64)
    assert secret(target).status is Status.OK


def test_what_guards_reads_is_found_in_the_configuration(tmp_path: Path) -> None:
    data = {"METATIDE_DATA_DIR": str(tmp_path)}
    guards: tuple[dict[str, str], ...] = (
        {},
        {"METATIDE_READS_TOKENS_PATH": "t"},
        {"METATIDE_THRIFT_RELAY_READS": "true"},
    )
    targets = [find_target(load(environ=data | guard).config) for guard in guards]
    assert [target.needs_workers_secret for target in targets] == [False, True, True]
    named = {**data, "METATIDE_WORKER_SECRET_FILE": "/run/secrets/workers"}
    assert find_target(load(environ=named).config).workers_secret == Path("/run/secrets/workers")
