"""That every check gives one line, and none that cannot be done fails for another's fault."""

from hive.errors import MachineError
from metatide.doctor import CHECKS, Finding, Status, Target, examine
from metatide.doctor.checks import Check

NOTHING = Target(None, "metatide", 16, None, None)


def test_each_check_gives_one_result_with_a_remedy_unless_it_is_fine() -> None:
    results = list(examine(NOTHING))
    assert [one.check for one in results] == [one.name for one in CHECKS]
    for one in results:
        assert (one.finding.remedy is None) == (one.finding.status is Status.OK)


def test_what_needs_a_failed_check_is_not_done() -> None:
    def impossible(_target: Target) -> Finding:
        raise AssertionError("done all the same")

    broken = Check("broker", lambda _: Finding(Status.FAILED, "down", "start it"))
    [first, second, third] = examine(
        NOTHING,
        [broken, Check("topic", impossible, "broker"), Check("records", impossible, "topic")],
    )
    assert first.finding.status is Status.FAILED
    assert second.finding == Finding(Status.UNCHECKED, "needs broker", "start it")
    assert third.finding.status is Status.UNCHECKED


def test_a_service_that_falls_silent_in_between_is_a_finding() -> None:
    def silent(_target: Target) -> Finding:
        raise MachineError("the broker is gone")

    [result] = examine(NOTHING, [Check("broker", silent)])
    assert result.finding.status is Status.FAILED
    assert result.finding.detail == "can't be checked: the broker is gone"


def test_a_check_needs_only_what_comes_before_it() -> None:
    seen: set[str] = set()
    for check in CHECKS:
        assert check.needs is None or check.needs in seen
        seen.add(check.name)
