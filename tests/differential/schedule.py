"""Chooses the next step at random."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from hive.names import partition_name
from tests.differential.mix import ACTIONS, OVERLAPS, WEIGHTS, fitted
from tests.differential.names import (
    CONSTRAINTS,
    DATABASES,
    DAYS,
    FUNCTIONS,
    KEYS,
    NUMBERS,
    PRINCIPALS,
    ROLES,
    TABLES,
    TYPES,
)
from tests.differential.question_parts import KnownTable
from tests.differential.steps import AnyStep, HeldSteps, Race, Step
from tests.differential.writers import CAPABILITIES
from tests.differential.writers.constraints import of_kind
from tests.differential.writers.statistics import KINDS
from tests.differential.writers.tables import KINDS as TABLE_KINDS

Arguments = dict[str, Any]
Place = tuple[str, str]

_STATISTICS_KEPT: Final = {"DO_NOT_UPDATE_STATS": "true"}
_ACCURATE: Final = '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}'


class Schedule:
    """Makes steps at random, about objects that exist; `tables` has the known ones by place."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._txns = 0
        self._open: list[tuple[str, Place]] = []
        self._focus = random.random()
        self.tables: Mapping[Place, KnownTable] = {}
        self.databases: Sequence[str] = ()

    def opening(self) -> list[AnyStep]:
        """The first steps of every run, which create something to write to."""
        steps = [
            Step("hive", "create_database", {"db": db, "parameters": {}}) for db in DATABASES[:2]
        ]
        self.databases = DATABASES[:2]
        steps += [self._step("create_table", "hive") for _ in range(4)]
        places = {(step.given["db"], step.given["table"]): None for step in steps[2:]}
        return [*steps, *(self._step("add_partitions", None, place) for place in places)]

    def next(self) -> list[AnyStep]:
        """One step, or a few that belong together."""
        random = self._random
        if not self.databases:
            return [self._step("create_database")]
        if not self.tables:
            return [self._step("create_table")]
        draw = random.random()
        if draw < 0.14:
            return self._transaction()
        if draw < 0.34:
            return [self._held_steps()]
        if draw < 0.4:
            lanes = random.sample(sorted(CAPABILITIES), random.choice((2, 3)))
            return [Race([[self._any(one) for _ in range(3)] for one in lanes])]
        if self._open and draw < 0.5:
            return self._end()
        return [self._any()]

    def _any(self, writer: str | None = None) -> Step:
        actions, weights = zip(*WEIGHTS.items(), strict=True)
        [action] = self._random.choices(actions, weights)
        return self._step(action, writer)

    def _step(self, action: str, writer: str | None = None, place: Place | None = None) -> Step:
        subject, ways = ACTIONS[action]
        step = getattr(self, f"_{subject}")(place or self._place(subject))
        method = self._random.choice(ways)
        if writer is None:
            # Other engines may not create all kinds of tables.
            creates_any = "kind" in step and self._random.random() < 0.8
            writer = "hive" if creates_any else self._random.choice(sorted(CAPABILITIES))
        return Step(writer, method, fitted(method, step))

    def _held_steps(self) -> HeldSteps:
        """Overlapping writes to one object, perhaps by different names of it."""
        random = self._random
        writers = random.sample(sorted(CAPABILITIES), random.choice((2, 2, 2, 3)))
        [kind] = random.choices(list(OVERLAPS), [len(one) for one in OVERLAPS.values()])
        place = self._place(kind)
        actions = OVERLAPS[kind]
        self._same = self._values(place)
        steps = [self._step(random.choice(actions), one, place) for one in writers]
        self._same = None
        return HeldSteps(steps)

    _same: tuple[str, str] | None = None
    """The partition that overlapping steps write to, so that they meet."""

    def _place(self, subject: str = "") -> Place:
        """A place for the subject: mostly an existing, suitable table, and often the same one."""
        random = self._random
        there = sorted(self.tables)
        if "partition" in subject:
            there = [one for one in there if self.tables[one].keys] or there
            if "new" not in subject:
                there = [one for one in there if self.tables[one].values] or there
        if not there or random.random() < 0.05:
            return random.choice(DATABASES), random.choice(TABLES)
        if random.random() < 0.5:
            return there[int(self._focus * len(there))]
        return random.choice(there)

    def _values(self, place: Place) -> tuple[str, str]:
        random, state = self._random, self.tables.get(place)
        if self._same is not None and random.random() < 0.8:
            return self._same
        if state is not None and state.values and random.random() < 0.85:
            day, number = random.choice(state.values)
            return day, number
        return random.choice(DAYS), random.choice(NUMBERS)

    def _columns(self, count: int) -> dict[str, str]:
        chosen = self._random.sample(sorted(TYPES), count)
        return {"id": "bigint", **{name: TYPES[name] for name in chosen}}

    def _note(self) -> dict[str, str]:
        key, value = self._random.choice("xyz"), self._random.randrange(100)
        return {f"k_{key}": str(value)}

    # The arguments of actions, by subject.

    def _new_database(self, place: Place) -> Arguments:
        return {"db": self._random.choice(DATABASES), "parameters": self._note()}

    def _changed_database(self, place: Place) -> Arguments:
        by = self._random.choice(
            (
                {"set": self._note()},
                {"ownerName": self._random.choice(("ann", "bob"))},
                {"description": self._random.choice(("", "new"))},
                {"unset": "k_x"},
            )
        )
        return {"db": place[0], "by": by}

    def _dropped_database(self, place: Place) -> Arguments:
        return {"db": self._random.choice(DATABASES), "cascade": self._random.random() < 0.8}

    def _new_table(self, place: Place) -> Arguments:
        random = self._random
        kinds = sorted(TABLE_KINDS)
        [kind] = random.choices(
            kinds, [5 if one in ("managed", "external") else 1 for one in kinds]
        )
        step_arguments: Arguments = {
            "db": random.choice(self.databases or DATABASES),
            "table": random.choice(TABLES),
            "kind": kind,
            "types": self._columns(random.randrange(4)),
            "keys": KEYS if random.random() < 0.85 and "view" not in kind else {},
            "named": [],
        }
        if kind == "materialized":
            step_arguments["keys"] = {}
        if random.random() < 0.3:
            step_arguments["named"] = [self._named() for _ in range(random.choice((1, 2)))]
        if random.random() < 0.2:
            step_arguments["serde"] = self._serde()
        if random.random() < 0.2:
            step_arguments["storage"] = {"numBuckets": 2, "bucketCols": ["id"]}
        return step_arguments

    def _serde(self) -> Arguments:
        random = self._random
        field = random.choice(("serializerClass", "deserializerClass", "description", "name"))
        value: Any = random.choice(("org.example.A", "org.example.B"))
        return {field: value}

    def _dropped_table(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1]}

    def _changed_table(self, place: Place) -> Arguments:
        random = self._random
        by: Arguments = random.choice(
            (
                {"set": self._note()},
                {"set": self._note()},
                {"set": {"comment": str(random.randrange(9))}},
                {"set": {"numRows": str(random.randrange(9)), "COLUMN_STATS_ACCURATE": _ACCURATE}},
                {"unset": random.choice(("k_x", "COLUMN_STATS_ACCURATE", "EXTERNAL"))},
                {"add": {f"c{random.randrange(9)}": "string"}},
                {"columns": self._columns(2)},
                {"serde": self._serde()},
                {"storage": {"compressed": True}},
                {"storage": {"numBuckets": random.randrange(4)}},
                {"owner": random.choice(("ann", None))},
                {"temporary": True},
                {"lastAccessTime": random.randrange(1, 99)},
                {"retention": random.randrange(9)},
                {"set": {"transactional": "true"}, "tableType": "MANAGED_TABLE"},
                {"tableType": random.choice((None, "EXTERNAL_TABLE"))},
                {"viewExpandedText": "select 2"},
            )
        )
        step_arguments = {
            "db": place[0],
            "table": place[1],
            "by": by,
            "properties": self._properties(),
        }
        return step_arguments | ({"stale": True} if random.random() < 0.15 else {})

    def _properties(self) -> Arguments:
        return dict(self._random.choice(({}, {}, {"CASCADE": "true"}, _STATISTICS_KEPT)))

    def _renamed_table(self, place: Place) -> Arguments:
        random = self._random
        to_db = place[0] if random.random() < 0.6 else random.choice(self.databases or DATABASES)
        return {"db": place[0], "table": place[1], "to_db": to_db, "to": random.choice(TABLES)}

    def _emptied_table(self, place: Place) -> Arguments:
        names = None if self._random.random() < 0.5 else [self._name(place)]
        return {"db": place[0], "table": place[1], "partitions": names}

    def _name(self, place: Place) -> str:
        return partition_name(list(KEYS), self._values(place))

    def _fired(self, place: Place) -> Arguments:
        values = list(self._values(place)) if self._random.random() < 0.5 else None
        return {"db": place[0], "table": place[1], "values": values}

    def _new_partition(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1], "values": self._values(place), "by": {}}

    def _new_partitions(self, place: Place) -> Arguments:
        random = self._random
        count = random.choice((1, 2, 4))
        values = list({(random.choice(DAYS), random.choice(NUMBERS)): None for _ in range(count)})
        by = {"set": self._note()} if random.random() < 0.5 else {}
        if random.random() < 0.2:
            by["serde"] = self._serde()
        missing_only = random.random() < 0.5
        placed = {"db": place[0], "table": place[1]}
        return {**placed, "values": values, "by": by, "missing_only": missing_only}

    def _named_partition(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1], "name": self._name(place)}

    def _named_partitions(self, place: Place) -> Arguments:
        names = [self._name(place) for _ in range(self._random.choice((1, 2)))]
        return {"db": place[0], "table": place[1], "names": names}

    def _dropped_partition(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1], "values": self._values(place)}

    def _partition_change(self) -> Arguments:
        random = self._random
        change: Arguments = random.choice(
            (
                {"set": self._note()},
                {"set": self._note()},
                {"set": {"numRows": str(random.randrange(9)), "COLUMN_STATS_ACCURATE": _ACCURATE}},
                {"serde": self._serde()},
                {"storage": {"compressed": True}},
                {"columns": self._columns(1)},
                {"lastAccessTime": random.randrange(1, 99)},
                {"unset": "k_x"},
            )
        )
        return change

    def _changed_partition(self, place: Place) -> Arguments:
        return {
            "db": place[0],
            "table": place[1],
            "values": self._values(place),
            "by": self._partition_change(),
            "properties": self._properties(),
        }

    def _changed_partitions(self, place: Place) -> Arguments:
        values = {self._values(place): None for _ in range(self._random.choice((1, 2)))}
        return self._changed_partition(place) | {"values": list(values)}

    def _renamed_partition(self, place: Place) -> Arguments:
        to = (self._random.choice(DAYS), self._random.choice(NUMBERS))
        return {"db": place[0], "table": place[1], "values": self._values(place), "to": to}

    def _exchanged_partition(self, place: Place) -> Arguments:
        day, number = self._values(place)
        to_db, to = self._place("partition")
        spec = {"ds": day, "n": number} if self._random.random() < 0.7 else {"ds": day}
        return {"db": place[0], "table": place[1], "to_db": to_db, "to": to, "spec": spec}

    def _figures(self, place: Place) -> list[tuple[str, str, str, int]]:
        random, state = self._random, self.tables.get(place)
        of = [name for name in (state.columns if state else TYPES) if TYPES.get(name) in KINDS]
        columns = random.sample(of, random.randrange(1, len(of) + 1)) if of else ["id"]
        return [
            (name, TYPES[name], random.choice(KINDS[TYPES[name]]), random.randrange(1, 100))
            for name in columns
        ]

    def _table_statistics(self, place: Place) -> Arguments:
        return {
            "db": place[0],
            "table": place[1],
            "of": self._figures(place),
            "engine": self._random.choice(("hive", "hive", "impala")),
            "merge": self._random.random() < 0.05,
        }

    def _partition_statistics(self, place: Place) -> Arguments:
        name = self._name(place)
        return self._table_statistics(place) | {"partition": name, "partitions": [name]}

    def _table_figures(self, place: Place) -> Arguments:
        return self._table_statistics(place) | {"partitions": [None]}

    def _dropped_statistics(self, place: Place) -> Arguments:
        column = self._random.choice(("id", "name", None))
        engine = self._random.choice(("hive", "impala"))
        placed = {"db": place[0], "table": place[1], "partition": self._name(place)}
        return {**placed, "column": column, "engine": engine}

    def _named(self) -> tuple[str, str, str, tuple[str, str, str] | None]:
        random = self._random
        kind = random.choice((*of_kind, "not_null", "primary"))
        parent = (*self._place(), "id") if kind == "foreign" else None
        return kind, random.choice(CONSTRAINTS), "id", parent

    def _new_constraint(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1], "named": self._named()}

    def _dropped_constraint(self, place: Place) -> Arguments:
        return {"db": place[0], "table": place[1], "name": self._random.choice(CONSTRAINTS)}

    def _function(self, place: Place) -> Arguments:
        return {
            "db": place[0],
            "function": self._random.choice(FUNCTIONS),
            "class_name": self._random.choice(("org.example.F", "org.example.G")),
        }

    def _role(self, place: Place) -> Arguments:
        random = self._random
        return {
            "role": random.choice(ROLES),
            "principal": random.choice((*PRINCIPALS, *ROLES)),
            "type_": random.choice((1, 1, 2, 3)),
            "option": random.random() < 0.3,
        }

    def _grant(self, place: Place) -> Arguments:
        random = self._random
        return {
            "db": place[0],
            "table": place[1],
            "kind": random.choice((1, 2, 3, 3, 5)),
            "principal": random.choice((*PRINCIPALS, *ROLES)),
            "type_": random.choice((1, 1, 2, 3)),
            "privilege": random.choice(("SELECT", "INSERT", "ALL")),
        }

    # Transactions, which last for several steps.

    def _transaction(self) -> list[AnyStep]:
        """Begins one or two transactions on a table, which may write to it at once."""
        random, place = self._random, self._place("partitions")
        writers = random.sample(sorted(CAPABILITIES), random.choice((1, 2, 2)))
        steps: list[AnyStep] = []
        begun = []
        for writer in writers:
            self._txns += 1
            txn = f"txn{self._txns}"
            steps.append(Step(writer, "begin", {"txn": txn}))
            begun.append((writer, txn))
        placed = {"db": place[0], "table": place[1]}
        for writer, txn in begun:
            steps.append(Step(writer, "allocate", {"txn": txn, **placed}))
        for writer, txn in begun:
            steps += [self._write(writer, txn, place) for _ in range(random.choice((0, 1, 2)))]
            self._open.append((txn, place))
        return steps

    def _write(self, writer: str, txn: str, place: Place) -> Step:
        random = self._random
        rows = {"numRows": str(random.randrange(9)), "COLUMN_STATS_ACCURATE": _ACCURATE}
        placed = {"txn": txn, "db": place[0], "table": place[1]}
        values = self._values(place)
        arguments_of_actions: dict[str, Arguments] = {
            "alter_table_in": {"by": {"set": rows}, "with_list": random.random() < 0.8},
            "add_partitions_in": {"values": [values]},
            "alter_partitions_in": {"values": [values], "by": {"set": rows}},
            "rename_partition_in": {"values": values, "to": (random.choice(DAYS), "9")},
            "update_statistics_in": {
                "partition": random.choice((None, self._name(place))),
                "of": self._figures(place),
            },
            "truncate_in": {},
        }
        action = random.choice(
            sorted((*arguments_of_actions, "alter_table_in", "alter_partitions_in"))
        )
        return Step(writer, action, {**placed, **arguments_of_actions[action]})

    def _end(self) -> list[AnyStep]:
        random = self._random
        writer = random.choice(sorted(CAPABILITIES))
        txn, place = self._open.pop(random.randrange(len(self._open)))
        steps: list[AnyStep] = []
        if random.random() < 0.5:
            steps.append(self._write(writer, txn, place))
        ending = Step(writer, random.choice(("commit", "commit", "commit", "abort")), {"txn": txn})
        if random.random() < 0.1:
            ending = Step(writer, "abort_txns", {"txns": [txn]})
        return [*steps, ending]
