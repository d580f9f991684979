"""Runs of one loaded network from any number of threads: each in a workspace of its own, or one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..backends.base import Reentrant, Runnable


class Serving:
    """A loaded network as threads share it.

    A run takes a workspace that no other run is using, and gives it back: there are as many as there have been runs at one time, and
    memory is allocated only where all of them are in use. A backend without workspaces runs under a lock.

    Args:
        network: the library that the backend loaded.
        arena_bytes: workspace of one run.
    """

    def __init__(self, network: Runnable, arena_bytes: int) -> None:
        self._network = network
        self._reentrant = network if isinstance(network, Reentrant) else None
        self._arena_bytes = arena_bytes
        self._free: list[Any] = []
        self._lock = threading.Lock()

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[Any], entry: dict[str, Any], lengths: Sequence[int] = ()
    ) -> None:
        """Runs an entry, as the report describes it, on contiguous arrays, for lengths that the run decides. Raises ToolError if it
        reports an error."""
        run_with = entry.get("run_with")
        if self._reentrant is None or run_with == "":
            with self._lock:
                if lengths:
                    return self._network.run(inputs, outputs, entry["run"], lengths)
                return self._network.run(inputs, outputs, entry["run"])
        try:
            workspace = self._free.pop()  # one step of the interpreter: no two threads get the same
        except IndexError:
            workspace = self._reentrant.workspace(self._arena_bytes)
        try:
            # A build by an irtool that did not say has one name only.
            if lengths:
                self._reentrant.run_in(workspace, inputs, outputs, run_with or f"{entry['run']}_with", lengths)
            else:
                self._reentrant.run_in(workspace, inputs, outputs, run_with or f"{entry['run']}_with")
        finally:
            self._free.append(workspace)
