"""Programs of the system's packages."""

import os
import shutil

from hive.errors import MachineError


def system_program(name: str) -> str:
    """The path of a program, which may be one for administrators."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        raise MachineError(f"there is no {name}: .ci/machine installs the package that has it")
    return path
