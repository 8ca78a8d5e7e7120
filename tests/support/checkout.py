"""Files of the checkout, and the tools of its environment that judge them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILES = sorted(
    path for path in (ROOT / "Dockerfile", *(ROOT / "compose").rglob("Dockerfile")) if path.exists()
)


def revision() -> str | None:
    """The checked-out commit; None outside of a checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def run_tool(name: str, *arguments: str | Path) -> None:
    """Its fault is the assertion's."""
    program = Path(sys.executable).with_name(name)
    done = subprocess.run(
        [program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
