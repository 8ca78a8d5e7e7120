"""As whom a worker joined its group, kept for when it is killed and started again.

The group waits for a member that doesn't answer until its session has run out. A worker knows that
its former self is gone, for its directory is its own; so it says that it is that one.
"""

from contextlib import suppress
from pathlib import Path


class Member:
    """The id that the group gave a worker, in a file of its directory."""

    def __init__(self, path: Path, client_id: str) -> None:
        self._path = path
        self._client_id = client_id

    @property
    def id(self) -> str:
        """Empty where there is none, or where it is another worker's, as in a copied directory."""
        try:
            found = self._path.read_text(errors="replace")
        except OSError:
            return ""
        return found if found.rpartition(":")[0] == self._client_id.rpartition(":")[0] else ""

    def keep(self, member_id: str) -> None:
        # Without it only a start after a crash takes longer.
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(member_id)
