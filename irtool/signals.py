"""The signals that end a command."""

from __future__ import annotations

import signal

TERMINATING = tuple({signal.SIGTERM: None, getattr(signal, "SIGHUP", signal.SIGTERM): None})
"""Those of other programs and of the terminal that goes away; Windows has one of them only."""

ENDING = (signal.SIGINT, *TERMINATING)
"""All of them: the interrupt of a person as well."""
