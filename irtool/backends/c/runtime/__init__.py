"""The parts of written programs that do not depend on the network, as files of C.

team.c          threads that run a network together, see `backends.c.team`
threads.c       the number of threads of a run
denormals.c     the mode in which denormal numbers are zeros, see `backends.c.denormals`
states.c        instances of a network with states, begun, saved and restored
weights.c       the bytes of a weights file, passed or loaded
expansions.c    weights that are transformed when they are loaded
profile.c       times of kernels, see `backends.c.profile_hooks`

The program fills in each `$word` of a file: names, and numbers.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from string import Template


@cache
def runtime(file: str) -> str:
    """The text of a file."""
    return (pkgutil.get_data(__package__, file) or b"").decode()


def fill_runtime(file: str, **values: str | int) -> str:
    """The text with its words filled in. Raises KeyError for a missing word."""
    return Template(runtime(file)).substitute(values)
