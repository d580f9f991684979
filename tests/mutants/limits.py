"""A plug-in of pytest that stops each test after some time: a mutant may never end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds-each", type=float, default=10.0, help="a test that computes for longer fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with limited(item.config.getoption("--seconds-each")):
        return (yield)


@contextlib.contextmanager
def limited(seconds: float, patience: float = 20) -> Iterator[None]:
    """What runs inside fails after so many seconds of the processor, or `patience` times as many on the clock."""

    def stop(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"took longer than {seconds} s", pytrace=False)

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, patience * seconds))
    before = [(number, signal.signal(number, stop)) for number, _, _ in timers]
    for _, timer, most in timers:
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)
