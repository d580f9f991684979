"""Runs of one loaded network from any number of threads: each in a workspace of its own, or one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..backends.base import Reentrant, ReentrantAtAnyLength, Runnable, Stateful, ValueOutOfBounds, WithRegion
from ..diagnostics import ToolError, UsageError


class Serving:
    """A loaded network as threads share it.

    A run takes a workspace that no other run is using, and gives it back: there are as many as there have been runs at one time, and
    memory is allocated only where all of them are in use. A backend without workspaces runs under a lock.

    Args:
        network: the library that the backend loaded.
        arena_bytes: workspace of one run.
        region_bytes: bytes of it for data and recursion.
        region_begin: their offset in the workspace.
        value_lengths: the extents that values decide, as the report describes them, if runs leave notes of those outside of their bounds.

    Attributes:
        region_used: the most bytes of them that a run used at one time, so far.
    """

    def __init__(
        self,
        network: Runnable,
        arena_bytes: int,
        region_bytes: int = 0,
        region_begin: int = 0,
        value_lengths: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.region_used = 0
        self._region_begin = region_begin
        self._value_lengths = value_lengths
        self._with_region = network if region_bytes and isinstance(network, WithRegion) else None
        self._network = network
        self._reentrant = network if isinstance(network, Reentrant) else None
        self._stateful: Stateful | None = None
        self._arena_bytes = arena_bytes
        self._free: list[Any] = []
        self._lock = threading.Lock()

    @property
    def stateful(self) -> Stateful:
        """The network, for steps of instances. Raises UsageError for a backend that has none."""
        if self._stateful is None:  # asked once: a protocol takes longer than a step
            if not isinstance(self._network, Stateful):
                raise UsageError("the backend of this build has no instances of networks with states")
            self._stateful = self._network
        return self._stateful

    def _explained(self, error: ValueOutOfBounds) -> ToolError:
        """The error with the name, the bounds and the place of the extent, if the run left a note of it."""
        if not 0 <= error.number < len(self._value_lengths):
            return error
        extent = self._value_lengths[error.number]
        name, low, high = extent["name"], extent["low"], extent["high"]
        place = f" ({extent['origin']})" if extent["origin"] else ""
        return ToolError(
            f"the compiled program failed: a value decides that {name}{place} is {error.value}, and it has to be from {low} to {high}",
            help=f"a larger bound: --dim '{name}<={error.value}'" if error.value > high else None,
        )

    def _workspace(self, network: Reentrant) -> Any:
        try:
            return self._free.pop()  # one step of the interpreter: no two threads get the same
        except IndexError:
            return network.workspace(self._arena_bytes)

    def _return(self, workspace: Any) -> None:
        """Takes a workspace back, after a run in it."""
        if self._with_region is not None:
            self.region_used = max(self.region_used, self._with_region.region_used(workspace, self._region_begin))
        self._free.append(workspace)

    def step(
        self,
        instance: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        run_with: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """One step of the instance at an address, by the function of that name, on values at another one, if it takes some. Raises
        ToolError if it reports an error."""
        network = self._stateful or self.stateful
        workspace = self._workspace(network)
        try:
            if values:
                network.step_in(workspace, instance, inputs, outputs, run_with, lengths, values)
            else:
                network.step_in(workspace, instance, inputs, outputs, run_with, lengths)
        except ValueOutOfBounds as error:
            raise self._explained(error) from None
        finally:
            self._return(workspace)

    def _run_on_values(
        self, inputs: Sequence[Any], outputs: Sequence[Any], run_with: str, lengths: Sequence[int], values: int
    ) -> None:
        if self._reentrant is None:
            raise UsageError("the backend of this build takes no values of data types")
        workspace = self._workspace(self._reentrant)
        try:
            self._reentrant.run_in(workspace, inputs, outputs, run_with, lengths, values)
        except ValueOutOfBounds as error:
            raise self._explained(error) from None
        finally:
            self._return(workspace)

    def run(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        entry: dict[str, Any],
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """Runs an entry, as the report describes it, on contiguous arrays, for lengths that the run decides, and values at an address, if
        it takes some. Raises ToolError if it reports an error."""
        if values:
            return self._run_on_values(inputs, outputs, entry["run_with"], lengths, values)
        network, run_with = self._reentrant, entry.get("run_with")
        if network is None or run_with == "":
            with self._lock:
                if lengths:
                    return self._network.run(inputs, outputs, entry["run"], lengths)
                return self._network.run(inputs, outputs, entry["run"])
        if sizes := entry.get("arena_size"):
            assert isinstance(network, ReentrantAtAnyLength) and run_with is not None
            return self._run_in_any(network, inputs, outputs, run_with, sizes, lengths)
        workspace = self._workspace(network)
        try:
            if lengths:
                network.run_in(workspace, inputs, outputs, _run_with(entry), lengths)
            else:
                network.run_in(workspace, inputs, outputs, _run_with(entry))
        except ValueOutOfBounds as error:
            raise self._explained(error) from None
        finally:
            self._return(workspace)

    def runner(self, entry: dict[str, Any]) -> Callable[[Sequence[Any], Sequence[Any]], None]:
        """`run` of an entry without lengths and values: a function of the inputs and the outputs, with no look at the entry in each run."""
        network = self._reentrant
        if network is None or entry.get("run_with") == "" or entry.get("arena_size") or self._with_region is not None:
            return lambda inputs, outputs: self.run(inputs, outputs, entry)
        free, new, run_in, run_with = self._free, network.workspace, network.run_in, _run_with(entry)

        def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
            try:
                workspace = free.pop()  # see `_workspace`
            except IndexError:
                workspace = new(self._arena_bytes)
            try:
                run_in(workspace, inputs, outputs, run_with)
            except ValueOutOfBounds as error:
                raise self._explained(error) from None
            finally:
                free.append(workspace)

        return run

    def _run_in_any(
        self,
        network: ReentrantAtAnyLength,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        run_with: str,
        arena_size: str,
        lengths: Sequence[int],
    ) -> None:
        """A run in a workspace of as many bytes as these lengths need: one that is large enough, or a new one in its place."""
        size = network.arena_size(arena_size, lengths)
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = network.workspace(size)
        if workspace[1] < size:
            workspace = network.workspace(size)
        try:
            network.run_in(workspace, inputs, outputs, run_with, lengths)
        finally:
            self._free.append(workspace)


def _run_with(entry: dict[str, Any]) -> str:
    """The function that runs an entry in a workspace. A build by an irtool that did not say has one name only."""
    return entry.get("run_with") or f"{entry['run']}_with"
