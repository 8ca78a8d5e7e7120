"""The types that describe Thrift structs: scalars, containers, structs."""

from collections.abc import Iterable

STOP = 0
BOOL, BYTE, DOUBLE, I16, I32, I64 = 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15

JSON_NAMES = {
    BOOL: "tf",
    BYTE: "i8",
    DOUBLE: "dbl",
    I16: "i16",
    I32: "i32",
    I64: "i64",
    STRING: "str",
    STRUCT: "rec",
    MAP: "map",
    SET: "set",
    LIST: "lst",
}
CODES = {name: code for code, name in JSON_NAMES.items()}


class Type:
    """A type: its code in TBinaryProtocol and its name in TJSONProtocol."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.json_name = JSON_NAMES[code]


class Scalar(Type):
    """A type without parts."""


class ListOf(Type):
    """A list of one type."""

    def __init__(self, item: Type, code: int = LIST) -> None:
        super().__init__(code)
        self.item = item


class SetOf(ListOf):
    """A set of one type, held in a Python list or set."""

    def __init__(self, item: Type) -> None:
        super().__init__(item, SET)


class MapOf(Type):
    """A map from one type to another."""

    def __init__(self, key: Type, value: Type) -> None:
        super().__init__(MAP)
        self.key = key
        self.value = value


class Field:
    __slots__ = ("id", "name", "type")

    def __init__(self, id_: int, name: str, type_: Type) -> None:
        self.id = id_
        self.name = name
        self.type = type_


class Struct(Type):
    """A struct or union: fields by ascending id. `define` serves structs that contain each
    other."""

    def __init__(self, name: str, *fields: tuple[int, str, Type]) -> None:
        super().__init__(STRUCT)
        self.name = name
        self.fields: tuple[Field, ...] = ()
        self.define(fields)

    def define(self, fields: Iterable[tuple[int, str, Type]]) -> None:
        """Gives the struct its fields, before its first use."""
        self.fields = tuple(Field(*field) for field in sorted(fields, key=lambda f: f[0]))

    def __repr__(self) -> str:
        return self.name


boolean = Scalar(BOOL)
byte = Scalar(BYTE)
double = Scalar(DOUBLE)
i16 = Scalar(I16)
i32 = Scalar(I32)
i64 = Scalar(I64)
string = Scalar(STRING)
binary = Scalar(STRING)
strings = ListOf(string)
properties = MapOf(string, string)
