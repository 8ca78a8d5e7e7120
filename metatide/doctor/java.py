"""Checks the Java runtime, which the Kafka of `metatide up` and Spark need."""

from hive.errors import MachineError
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.stack.java import MAJOR_MIN, find_java


def version(target: Target) -> Finding:
    try:
        program = find_java()
    except MachineError as error:
        detail, _, remedy = str(error).partition("; ")
        if not target.needs_java:
            return unchecked(f"{detail}; a Kafka of yours needs none here", remedy)
        return failed(detail, remedy)
    return ok(f"{program} is Java {MAJOR_MIN} or newer")
