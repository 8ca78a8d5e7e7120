"""The frequency of each action, the methods that perform it, and the actions that may overlap."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

ACTIONS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "create_database": ("new_database", ("create_database", "create_database_req")),
    "alter_database": ("changed_database", ("alter_database", "alter_database_req")),
    "drop_database": ("dropped_database", ("drop_database", "drop_database_req")),
    "create_table": (
        "new_table",
        (
            *("create_table", "create_table_with_environment_context"),
            *("create_table_with_constraints", *["create_table_req"] * 5),
        ),
    ),
    "drop_table": (
        "dropped_table",
        ("drop_table", "drop_table_with_environment_context", "drop_table_req"),
    ),
    "alter_table": (
        "changed_table",
        (
            *("alter_table", "alter_table_with_cascade"),
            *("alter_table_with_environment_context", "alter_table_req", "alter_table_req"),
        ),
    ),
    "rename_table": (
        "renamed_table",
        ("rename_table", "rename_table_with_environment_context"),
    ),
    "truncate": ("emptied_table", ("truncate_table", "truncate_table_req")),
    "fire": ("fired", ("fire_insert", "refresh")),
    "materialize": ("dropped_table", ("update_creation_metadata",)),
    "add_partition": (
        "new_partition",
        (
            *("add_partition", "add_partition_with_environment_context"),
            "append_partition",
        ),
    ),
    "append_by_name": ("named_partition", ("append_partition_by_name",)),
    "add_partitions": (
        "new_partitions",
        ("add_partitions", "add_partitions_req", "add_partitions_req", "add_partitions_pspec"),
    ),
    "drop_partition": ("dropped_partition", ("drop_partition",)),
    "drop_by_name": ("named_partition", ("drop_partition_by_name",)),
    "drop_partitions": ("named_partitions", ("drop_partitions_req",)),
    "alter_partition": (
        "changed_partition",
        ("alter_partition", "alter_partition_with_environment_context"),
    ),
    "alter_partitions": (
        "changed_partitions",
        (
            *("alter_partitions", "alter_partitions_with_environment_context"),
            "alter_partitions_req",
        ),
    ),
    "rename_partition": ("renamed_partition", ("rename_partition", "rename_partition_req")),
    "exchange": ("exchanged_partition", ("exchange_partitions", "exchange_partition")),
    "table_statistics": (
        "table_statistics",
        (
            "update_table_column_statistics",
            "update_table_column_statistics_req",
        ),
    ),
    "table_figures": ("table_figures", ("set_aggr_stats_for",)),
    "partition_statistics": (
        "partition_statistics",
        (
            "update_partition_column_statistics",
            "update_partition_column_statistics_req",
            "set_aggr_stats_for",
        ),
    ),
    "drop_statistics": (
        "dropped_statistics",
        ("delete_table_column_statistics", "delete_partition_column_statistics"),
    ),
    "add_constraint": ("new_constraint", ("add_constraint",)),
    "drop_constraint": ("dropped_constraint", ("drop_constraint",)),
    "function": ("function", ("create_function", "alter_function", "drop_function")),
    "role": ("role", ("create_role", "drop_role", "grant_role", "grant_role", "revoke_role")),
    "grant": ("grant", ("grant", "grant", "revoke")),
}
"""By action, the subject that makes the arguments, and the methods that take some of them."""

WEIGHTS: Final[Mapping[str, int]] = {
    "create_database": 2,
    "alter_database": 2,
    "drop_database": 1,
    "create_table": 6,
    "drop_table": 3,
    "alter_table": 10,
    "rename_table": 4,
    "truncate": 2,
    "fire": 2,
    "materialize": 1,
    "add_partition": 3,
    "append_by_name": 1,
    "add_partitions": 8,
    "drop_partition": 2,
    "drop_by_name": 1,
    "drop_partitions": 2,
    "alter_partition": 3,
    "alter_partitions": 4,
    "rename_partition": 3,
    "exchange": 2,
    "table_statistics": 5,
    "table_figures": 1,
    "partition_statistics": 6,
    "drop_statistics": 2,
    "add_constraint": 6,
    "drop_constraint": 3,
    "function": 2,
    "role": 2,
    "grant": 3,
}

OVERLAPS: Final[Mapping[str, Sequence[str]]] = {
    "table": (
        *("alter_table", "alter_table", "rename_table", "table_statistics", "table_statistics"),
        *("drop_table", "create_table", "add_constraint", "truncate", "drop_statistics"),
    ),
    "partition": (
        *("alter_partition", "alter_partitions", "partition_statistics", "rename_partition"),
        *("drop_partition", "alter_partition", "alter_partitions", "add_partitions"),
        *("alter_table", "rename_table", "exchange"),
    ),
    "database": ("alter_database", "alter_database", "alter_database", "create_table"),
    "constraint": ("add_constraint", "drop_constraint", "drop_table", "rename_table"),
}
"""By kind of object, the actions that overlap."""


def fitted(method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a subject's arguments that the method takes."""
    left_out = {
        "create_table": {"named"},
        "create_table_with_environment_context": {"named"},
        "alter_table": {"properties"},
        "alter_table_with_cascade": {"properties", "stale"},
        "append_partition": {"by"},
        "add_partitions": {"missing_only"},
        "add_partitions_pspec": {"missing_only"},
        "alter_partition": {"properties"},
        "alter_partitions": {"properties"},
        "alter_partitions_req": {"properties"},
        "update_table_column_statistics": {"merge"},
        "update_partition_column_statistics": {"merge", "partitions"},
        "update_partition_column_statistics_req": {"partitions"},
        "set_aggr_stats_for": {"partition"},
        "delete_table_column_statistics": {"partition"},
        "drop_function": {"class_name"},
        "create_role": {"principal", "type_", "option"},
        "drop_role": {"principal", "type_", "option"},
        "revoke_role": {"option"},
    }.get(method, set())
    return {name: value for name, value in arguments.items() if name not in left_out}
