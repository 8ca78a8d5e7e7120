"""Checks whether everything that a deployment needs is present and configured correctly."""

from metatide.doctor.checks import CHECKS, Result, examine
from metatide.doctor.finding import Finding, Status
from metatide.doctor.target import Target, find_target

__all__ = ["CHECKS", "Finding", "Result", "Status", "Target", "examine", "find_target"]
