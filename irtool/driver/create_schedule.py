"""`create_schedule`: schedules the tensor expression of one call by hand, primitive by primitive."""

from __future__ import annotations

from ..lower.lower_call import LoweredCall
from ..schedule.scripts.handwritten import Schedule


def create_schedule(lowered: LoweredCall, name: str = "main") -> Schedule:
    """A schedule of a result of `irtool.lower_call`, to be written stage by stage; `name` is that of the loop nest.

    See `irtool.schedule.scripts.handwritten`.
    """
    return Schedule(lowered.kernel(name), lowered.attributes(name))
