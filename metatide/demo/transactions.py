"""An open transaction of the workload."""

from dataclasses import dataclass, field

from metatide.demo.objects import Table


@dataclass(eq=False, slots=True)
class Transaction:
    """A transaction and the tables that allocated write ids for it, which may have been dropped
    since.
    """

    id: int
    tables: list[Table] = field(default_factory=list)

    def write_ids(self) -> list[tuple[int, Table]]:
        """Its write ids in ascending order, with their tables, which the caller must hold."""
        pairs = [(t.write_ids[self.id], t) for t in self.tables if self.id in t.write_ids]
        return sorted(pairs, key=lambda pair: pair[0])
