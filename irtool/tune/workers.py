"""Measuring on other machines, through Dask."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from ..diagnostics import ToolError, UsageError
from ..extras import install_line

_PATIENCE = "15s"


@contextmanager
def workers(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the workers of a scheduler, and their number.

    Raises UsageError if Dask is not installed, ToolError where the scheduler cannot be reached or has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "measuring on other machines needs the package distributed", help=install_line("distributed")
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ToolError(f"the scheduler {address} cannot be reached: {error}") from None
    with client:
        count = len(client.scheduler_info()["workers"])
        if not count:
            raise ToolError(f"the scheduler {address} has no workers")
        # A worker measures one kernel at a time, with any number of threads, and never takes an old result for a new one.
        executor: Executor = client.get_executor(pure=False, resources=None)
        yield executor, count
