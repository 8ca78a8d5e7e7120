"""The names of a database's tables, and its functions, at its home shard."""

import msgspec

from processors.fold.entries import clear, delete, put
from processors.fold.work import Work
from state import keys
from state.records.actions import CreateNames, DropFunction, DropName, PutFunction, PutName
from state.records.objects import NameImage

_encode = msgspec.msgpack.Encoder().encode


def name_data(image: NameImage) -> bytes:
    """What is kept of a name; the key holds the name itself."""
    return _encode((image.type, image.owner, image.comment))


def create_names(work: Work, event: int, action: CreateNames) -> None:
    loads = work.names_of(action.db)
    for kind in keys.OF_NAMES:
        clear(work, loads, keys.of_database(kind, action.db), event)
    loads.created(event)


def put_name(work: Work, event: int, action: PutName) -> None:
    key = keys.name(action.db, action.name.table)
    put(work, work.names_of(action.db), key, event, name_data(action.name))


def drop_name(work: Work, event: int, action: DropName) -> None:
    delete(work, work.names_of(action.db), keys.name(action.db, action.table), event)


def put_function(work: Work, event: int, action: PutFunction) -> None:
    key = keys.function(action.db, action.function.name)
    put(work, work.names_of(action.db), key, event, action.function.data)


def drop_function(work: Work, event: int, action: DropFunction) -> None:
    delete(work, work.names_of(action.db), keys.function(action.db, action.function), event)
