"""The supervisor over small real processes: shells that say in files what happens to them."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from hive.errors import MachineError
from metatide.stack import supervisor
from metatide.stack.service import Launch, Service
from metatide.stack.state import ProcessState
from metatide.stack.supervisor import Supervisor

PATIENCE_S = 60.0


class Shell(Service):
    """Counts as up once its script has made the file NAME.up; notes its start and its end."""

    # What a shell does at once may take long on a busy machine.
    stop_timeout_s = PATIENCE_S
    start_timeout_s = PATIENCE_S

    def __init__(self, folder: Path, name: str, script: str = "", needs: tuple[str, ...] = ()):
        self.name = name
        self.needs = needs
        self._folder = folder
        self._script = script or (
            f"trap 'echo -{name} >> events; exit 0' TERM; echo +{name} >> events; "
            f"touch {name}.up; while :; do sleep 0.01; done"
        )

    @property
    def address(self) -> str:
        return self.name

    def prepare(self) -> Launch:
        (self._folder / f"{self.name}.up").unlink(missing_ok=True)
        return Launch(("sh", "-c", f"cd {self._folder}; {self._script}"))

    def answers(self) -> bool:
        return (self._folder / f"{self.name}.up").exists()


class Run:
    """One run of a supervisor, and what it said."""

    def __init__(self, folder: Path, *services: Service) -> None:
        self.said: list[str] = []
        self.states: dict[str, ProcessState] = {}
        self._supervisor = Supervisor(services, folder / "logs", self.said.append, self._changed)

    def __call__(self, then: Callable[["Run"], Awaitable[None]]) -> None:
        """Runs until `then`, called when everything is up, has returned."""

        async def run() -> None:
            stop = asyncio.Event()

            async def ready() -> None:
                try:
                    await then(self)
                finally:
                    stop.set()

            await asyncio.wait_for(self._supervisor.run(stop, ready), PATIENCE_S)

        asyncio.run(run())

    async def until(self, what: Callable[[], bool]) -> None:
        while not what():
            await asyncio.sleep(0.01)

    def _changed(self, states: list[ProcessState]) -> None:
        self.states = {one.name: one for one in states}


async def nothing(_: Run) -> None:
    return


def events(folder: Path) -> list[str]:
    return (folder / "events").read_text().split()


def test_what_is_needed_starts_first_and_ends_last(tmp_path: Path) -> None:
    Run(
        tmp_path,
        Shell(tmp_path, "top", needs=("middle",)),
        Shell(tmp_path, "middle", needs=("bottom", "elsewhere")),
        Shell(tmp_path, "bottom"),
    )(nothing)
    assert events(tmp_path) == ["+bottom", "+middle", "+top", "-top", "-middle", "-bottom"]


def test_nothing_runs_afterwards(tmp_path: Path) -> None:
    run = Run(tmp_path, Shell(tmp_path, "one"), Shell(tmp_path, "two"))
    run(nothing)
    assert [one.phase for one in run.states.values()] == ["stopped", "stopped"]
    assert not any(psutil.pid_exists(one.pid or 0) for one in run.states.values())


def test_back_off_grows_with_each_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_FIRST_S", 0.01)

    async def end_three_times(run: Run) -> None:
        for times in (1, 2, 3):
            pid = run.states["one"].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await run.until(
                lambda times=times: (  # type: ignore[misc]
                    run.states["one"].restarts == times and run.states["one"].phase == "running"
                )
            )

    run = Run(tmp_path, Shell(tmp_path, "one"))
    run(end_three_times)
    ends = [text.partition(" (")[0] for text in run.said if "ended by" in text]
    assert ends == [
        "one was ended by SIGKILL; starting it again in 0.01 s",
        "one was ended by SIGKILL; starting it again in 0.02 s",
        "one was ended by SIGKILL; starting it again in 0.04 s",
    ]
    assert sum("is back after" in text for text in run.said) == 3


def test_one_that_ran_for_long_is_started_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_FIRST_S", 0.01)
    monkeypatch.setattr(supervisor, "PROVEN_S", 0)

    async def end_twice(run: Run) -> None:
        for times in (1, 2):
            os.kill(run.states["one"].pid or 0, signal.SIGKILL)
            await run.until(
                lambda times=times: (  # type: ignore[misc]
                    run.states["one"].restarts == times and run.states["one"].phase == "running"
                )
            )

    run = Run(tmp_path, Shell(tmp_path, "one"))
    run(end_twice)
    assert sum("starting it again in 0.01 s" in text for text in run.said) == 2


def test_one_that_lacks_something_when_it_starts_again_is_tried_until_it_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_FIRST_S", 0.01)

    class Lacking(Shell):
        starts = 0

        def prepare(self) -> Launch:
            self.starts += 1
            if self.starts == 2:
                raise MachineError("no fuel")
            return super().prepare()

    async def end_once(run: Run) -> None:
        os.kill(run.states["one"].pid or 0, signal.SIGKILL)
        await run.until(lambda: any("is back after" in text for text in run.said))

    run = Run(tmp_path, Lacking(tmp_path, "one"))
    run(end_once)
    assert any(text.startswith("one does not start: no fuel; starting it") for text in run.said)


def test_one_that_nobody_can_look_at_has_no_time_of_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another process of the same number could be taken for it later."""

    def vanish(pid: int) -> None:
        raise psutil.NoSuchProcess(pid)

    monkeypatch.setattr(psutil, "Process", vanish)
    run = Run(tmp_path, Shell(tmp_path, "one"))
    run(nothing)
    assert (run.states["one"].phase, run.states["one"].created) == ("stopped", None)


def test_one_that_never_comes_up_ends_the_run_with_its_last_words(tmp_path: Path) -> None:
    run = Run(
        tmp_path,
        Shell(tmp_path, "good"),
        Shell(tmp_path, "bad", "echo 'the disk is on fire' >&2; exit 7"),
    )
    with pytest.raises(MachineError, match="bad ended with status 7: the disk is on fire"):
        run(nothing)
    assert run.states["bad"].restarts == supervisor.STARTS_MAX
    assert not psutil.pid_exists(run.states["good"].pid or 0)


def test_one_that_runs_but_does_not_answer_is_ended(tmp_path: Path) -> None:
    mute = Shell(tmp_path, "mute", "exec sleep 60")
    mute.start_timeout_s = 0.3
    run = Run(tmp_path, mute)
    with pytest.raises(MachineError, match=r"mute did not answer within 0\.3 s"):
        run(nothing)
    assert not psutil.pid_exists(run.states["mute"].pid or 0)


def test_one_that_does_not_want_to_end_is_made_to(tmp_path: Path) -> None:
    script = "trap '' TERM; touch deaf.up; while :; do sleep 0.01; done"
    deaf = Shell(tmp_path, "deaf", script)
    deaf.stop_timeout_s = 0.3
    run = Run(tmp_path, deaf)
    run(nothing)
    assert "deaf does not end; killing it" in run.said
    assert not psutil.pid_exists(run.states["deaf"].pid or 0)


def test_a_machine_that_lacks_something_ends_the_run(tmp_path: Path) -> None:
    class Lacking(Shell):
        def prepare(self) -> Launch:
            raise MachineError("no fuel")

    with pytest.raises(MachineError, match="no fuel"):
        Run(tmp_path, Lacking(tmp_path, "one"))(nothing)


def test_a_full_disk_does_not_keep_processes_from_ending(tmp_path: Path) -> None:
    class Full(Run):
        def _changed(self, states: list[ProcessState]) -> None:
            super()._changed(states)
            if any(one.phase == "stopped" for one in states):
                raise MachineError("no space left on the disk")

    run = Full(tmp_path, Shell(tmp_path, "top", needs=("bottom",)), Shell(tmp_path, "bottom"))
    run(nothing)
    assert events(tmp_path) == ["+bottom", "+top", "-top", "-bottom"]
    assert not any(psutil.pid_exists(one.pid or 0) for one in run.states.values())


class Unprepared(Shell):
    """One whose files can't be written."""

    def prepare(self) -> Launch:
        raise PermissionError(13, "Permission denied", "/etc/settings")


def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    async def then(_: Run) -> None:
        raise AssertionError("it never answers")

    with pytest.raises(MachineError, match=r"^one can't be run: .*denied: '/etc/settings'$"):
        Run(tmp_path, Unprepared(tmp_path, "one"))(then)
