"""Schedules: loop nests to faster loop nests. They see nothing but nests and the machine."""

from .kernel import schedule_kernel
from .machine import Machine
from .program import schedule_program

__all__ = ["Machine", "schedule_kernel", "schedule_program"]
