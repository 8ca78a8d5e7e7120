"""Every error that Metatide raises on purpose. The message says what, where, and what to do."""


class MetatideError(Exception):
    """A failure with a message for a person; the command line prints it in one line."""

    exit_status = 1


class InputError(MetatideError):
    """Something that a person or a client gave us is wrong."""

    exit_status = 2


class MachineError(MetatideError):
    """The machine lacks something: a program, a port, room on disk, a network."""


class NameFormatError(InputError):
    """The name of a table or of a partition that no metastore could have written."""

    def __init__(self, text: str, advice: str) -> None:
        super().__init__(f"bad name {text!r}: {advice}")


class ThriftError(InputError):
    """Thrift bytes, TJSON or a mapping that are not what the struct's description says."""
