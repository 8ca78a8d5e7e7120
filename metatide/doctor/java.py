"""The Java runtime, on which Kafka and Spark run."""

from hive.errors import MachineError
from metatide.doctor.finding import Finding, failed, ok
from metatide.doctor.target import Target
from metatide.stack.java import MAJOR_MIN, find_java


def version(_target: Target) -> Finding:
    try:
        program = find_java()
    except MachineError as error:
        detail, _, remedy = str(error).partition("; ")
        return failed(detail, remedy)
    return ok(f"{program} is Java {MAJOR_MIN} or newer")
