"""Corrects the objects of events where the metastore stores something else.

The rules are from the source of 4.0.1, and from comparing images in the logs of a real Hive 4.2
with those read next:

- A new table keeps a write id only if it is transactional; others have 0, whatever the client gave.
- A new partition's write id is never stored: it reads as -1 until something alters the partition.
- An altered table keeps its id and creation time. It takes a new write id only if it is
  transactional, the id is positive and the alter was given a write-id list. Hive's client gives a
  list whenever it gives an id. But the metastore itself drops the list when a partitioned table is
  renamed or its columns change, unless columns were only appended without CASCADE. The message
  doesn't show CASCADE, so after an append it stays unknown which id is stored.
- An altered partition keeps its write id, unless the alter gives a positive one and the table is
  transactional. ALTER_PARTITIONS has the one that is stored; but a truncation of another table with
  an id stores it sometimes only, so its event doesn't tell the id.
- An altered table or partition keeps the serializer, the deserializer and the type of its serde;
  several partitions that are altered at once keep its description, too.
- An altered database takes the new parameters and owner, and the owner type, description and
  locations if they are given; everything else stays.
- Column statistics change the parameters and the write id of a transactional table or partition.
  Without an id they store -1, unless `hive.txn.stats.enabled` is off. The image of a table shows
  which; an event of a partition has no image.
- A transactional table or partition loses COLUMN_STATS_ACCURATE if the writer's snapshot, which
  isn't in the log, lacks the write that the statistics describe, and always if
  `hive.txn.stats.enabled` is off. ALTER_PARTITIONS has what was stored; ALTER_TABLE,
  ALTER_PARTITION and statistics of several partitions have what was sent.
- ALTER_PARTITIONS has what was sent, too, if a partition has an empty value. The metastore looks
  for the rows by values that it takes from names, where the empty value is another text; after that
  has failed it alters one partition after the other, without a lock.
- Where several partitions are altered at once, or by CASCADE, in the metastore's own SQL, names of
  columns and sort columns are stored as they were sent, elsewhere in lower case. An event with
  capitals in them doesn't tell which.
"""

from hive.events import accuracy
from hive.events.object_fields import (
    NO_WRITE_ID,
    PARTITION_CATALOG,
    PARTITION_STORAGE,
    PARTITION_WRITE_ID,
    TABLE_CREATED,
    TABLE_ID,
    TABLE_PARAMETERS,
    TABLE_STORAGE,
    TABLE_WRITE_ID,
    Value,
    parameters,
    partition_keys,
    partition_write_id,
    table_columns,
    table_write_id,
)
from hive.thrift.canonical import is_transactional

_SERDE, _SKEW = "7", "11"
"""Fields of a storage descriptor."""
_SKEWED_COLUMNS = "1"
_SERDE_DESCRIPTION = "4"
_SERDE_CLASSES = frozenset(("5", "6", "7"))
"""The serializer, the deserializer and the type of a serde."""
_SERDE_DETAILS = frozenset((_SERDE_DESCRIPTION, *_SERDE_CLASSES))
_DESCRIPTION, _LOCATION, _PARAMETERS, _OWNER, _OWNER_TYPE = "2", "3", "4", "6", "7"
_MANAGED_LOCATION, _DATABASE_TYPE = "10", "11"
"""Fields of a database."""
_REMOTE, _REMOTE_FIELDS = 2, frozenset(("12", "13"))


def is_write_id_certain(old: int, new: int) -> bool:
    """Whether it is known which write id an alter of a transactional object leaves, whose caller
    sent `new` where `old` was stored. Only one with a list of write ids stores its id; one without
    has read the object before, and an id below the stored one may be that of either."""
    return new <= 0 or new >= old


def created_table(table: Value) -> Value:
    """A table as CREATE_TABLE stores it."""
    write_id = table_write_id(table) if is_transactional(parameters(table)) else 0
    return {**table, TABLE_WRITE_ID: {"i64": write_id}}


def altered_table(before: Value, after: Value, *, renamed: bool) -> tuple[Value, bool]:
    """A table as ALTER_TABLE stores it, and whether that is certain."""
    old, new = table_write_id(before), table_write_id(after)
    is_known = accuracy.is_decided(parameters(after))
    stored = new
    if new <= 0 or not is_transactional(parameters(after)):
        stored = old
    elif new != old and partition_keys(before):
        old_columns = table_columns(before)
        new_columns = table_columns(after)
        appended = new_columns[: len(old_columns)] == old_columns
        if renamed or not appended:
            stored = old
        elif new_columns != old_columns:
            is_known = False
    # Before 4.2, a conversion keeps the old one.
    was_transactional = is_transactional(parameters(before))
    if stored != old and not (was_transactional and is_write_id_certain(old, stored)):
        is_known = False
    identity = {key: before[key] for key in (TABLE_CREATED, TABLE_ID) if key in before}
    image = {**after, **identity, TABLE_WRITE_ID: {"i64": stored}}
    return _with_serde_classes(image, before, TABLE_STORAGE), is_known


def _serde(holder: Value, descriptor: str) -> Value:
    serde: Value = holder.get(descriptor, {}).get("rec", {}).get(_SERDE, {}).get("rec", {})
    return serde


def _with_serde_classes(after: Value, before: Value, descriptor: str) -> Value:
    """The object with the serde fields of `before` that no alter changes."""
    old, new = _serde(before, descriptor), _serde(after, descriptor)
    if _SERDE_CLASSES.isdisjoint(old) and _SERDE_CLASSES.isdisjoint(new):
        return after
    if descriptor not in after:
        return after
    serde = {key: item for key, item in new.items() if key not in _SERDE_CLASSES}
    serde |= {key: item for key, item in old.items() if key in _SERDE_CLASSES}
    storage = {**after[descriptor]["rec"], _SERDE: {"rec": serde}}
    return {**after, descriptor: {"rec": storage}}


def listed_partition(partition: Value) -> tuple[Value, bool]:
    """A partition as a read of several returns it, with only the name, library and parameters of
    its serde and no skew without column names; and whether its serde has more."""
    if PARTITION_STORAGE not in partition:
        return partition, False
    storage: Value = partition[PARTITION_STORAGE]["rec"]
    serde: Value = storage[_SERDE]["rec"] if _SERDE in storage else {}
    has_details = not _SERDE_DETAILS.isdisjoint(serde)
    lacks_skew = _SKEW in storage and not _skewed_columns(storage)
    if not (has_details or lacks_skew):
        return partition, False
    listed = {key: item for key, item in storage.items() if key != _SKEW or not lacks_skew}
    if has_details:
        fields = {key: item for key, item in serde.items() if key not in _SERDE_DETAILS}
        listed[_SERDE] = {"rec": fields}
    return {**partition, PARTITION_STORAGE: {"rec": listed}}, has_details


def _skewed_columns(storage: Value) -> int:
    """The number of skewed columns."""
    columns = storage[_SKEW]["rec"].get(_SKEWED_COLUMNS)
    return columns["lst"][1] if columns else 0


def added_partition(partition: Value) -> Value:
    """A partition as ADD_PARTITION stores it."""
    return without_write_id(partition)


def in_catalog(partition: Value, catalog: str) -> Value:
    """The partition in the catalog of its table. Its event repeats what the writer sent, which may
    be another one, or none."""
    typed = {"str": catalog}
    if partition.get(PARTITION_CATALOG) == typed:
        return partition
    return {**partition, PARTITION_CATALOG: typed}


def without_write_id(partition: Value) -> Value:
    """The partition with write id -1, because its event doesn't tell the stored one."""
    return {**partition, PARTITION_WRITE_ID: NO_WRITE_ID}


def altered_partition(before: Value, after: Value, *, transactional: bool) -> Value:
    """A partition as ALTER_PARTITION stores it."""
    new = partition_write_id(after)
    stored = new if transactional and new > 0 else partition_write_id(before)
    image = {**after, PARTITION_WRITE_ID: {"i64": stored}}
    return _with_serde_classes(image, before, PARTITION_STORAGE)


def altered_database(before: Value, after: Value) -> Value:
    """A database as ALTER_DATABASE stores it."""
    stored = dict(before)
    for field in (_PARAMETERS, _OWNER):
        stored.pop(field, None)
        if field in after:
            stored[field] = after[field]
    if _OWNER_TYPE in after:
        stored[_OWNER_TYPE] = after[_OWNER_TYPE]
    for field in (_DESCRIPTION, _LOCATION, _MANAGED_LOCATION):
        if field in after and after[field]["str"].strip():
            stored[field] = after[field]
    return created_database(stored)


def created_database(database: Value) -> Value:
    """A database as CREATE_DATABASE stores it: only a remote one has a connector."""
    if database.get(_DATABASE_TYPE) == {"i32": _REMOTE}:
        return database
    return {key: item for key, item in database.items() if key not in _REMOTE_FIELDS}


def table_with_statistics(table: Value, new_parameters: dict[str, str], write_id: int) -> Value:
    """A table as UPDATE_TBL_COL_STAT_EVENT stores it."""
    typed = {"map": ["str", "str", len(new_parameters), new_parameters]}
    stored = {**table, TABLE_PARAMETERS: typed}
    if write_id > 0 and is_transactional(new_parameters):
        stored[TABLE_WRITE_ID] = {"i64": write_id}
    return stored
