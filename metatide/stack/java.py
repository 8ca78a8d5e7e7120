"""The Java runtime of Kafka and Ivy."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from hive.errors import MachineError

MAJOR_MIN = 17
_INSTALL = f"install Java {MAJOR_MIN} or newer (Debian: openjdk-17-jre-headless) or set JAVA_HOME"


def find_java() -> Path:
    """The `java` of JAVA_HOME, or else of the PATH; raises an error if it is missing or too old."""
    return _checked(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


@cache
def _checked(home: str, path: str) -> Path:
    if home:
        program = Path(home, "bin", "java")
        if not program.is_file():
            raise MachineError(f"JAVA_HOME is {home}, but there is no {program}; {_INSTALL}")
    else:
        java = shutil.which("java", path=path)
        if java is None:
            raise MachineError(f"no java on the PATH; {_INSTALL}")
        program = Path(java)
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise MachineError(f"{program} does not run ({error.strerror}); {_INSTALL}") from error
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if version is None:
        raise MachineError(f"{program} does not say its version; {_INSTALL}")
    if int(version[1]) < MAJOR_MIN:
        raise MachineError(f"{program} is Java {version[1]}, which is too old; {_INSTALL}")
    return program
