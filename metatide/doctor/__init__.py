"""Whether all that a deployment needs is there and set as it must be."""

from metatide.doctor.checks import CHECKS, Result, examine
from metatide.doctor.finding import Finding, Status
from metatide.doctor.target import Target, find_target

__all__ = ["CHECKS", "Finding", "Result", "Status", "Target", "examine", "find_target"]
