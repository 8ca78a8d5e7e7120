"""The id with which a worker joined its group, kept for a restart after a kill.

The group waits for a silent member until its session times out. A restarted worker knows that its
predecessor is gone, because it holds the lock of their directory; so it rejoins under the same id.
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
        """The id; empty if there is none, or if it is another worker's as in a copied directory."""
        try:
            member_id = self._path.read_text(errors="replace")
        except OSError:
            return ""
        is_own = member_id.rpartition(":")[0] == self._client_id.rpartition(":")[0]
        return member_id if is_own else ""

    def keep(self, member_id: str) -> None:
        # Without the file, a start after a crash takes longer, and that is all.
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(member_id)
