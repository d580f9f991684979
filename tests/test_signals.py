"""Signals that come while a command holds those that end it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

RELEASE = """
import signal
from irtool.signals import uninterrupted

def interrupt(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
signal.signal(signal.{name}, signal.SIG_DFL)
restore = signal.signal

def restore_and_interrupt(number, answer):
    restore(number, answer)
    if answer is interrupt:
        signal.raise_signal(signal.SIGINT)  # before the others have their answers again

try:
    with uninterrupted():
        signal.signal = restore_and_interrupt
except KeyboardInterrupt:
    print("interrupted", flush=True)
signal.signal = restore
signal.raise_signal(signal.{name})
print("alive")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_interrupt_amid_the_release_leaves_the_others_their_answers(name: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", RELEASE.format(name=name)], stdout=subprocess.PIPE, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (-getattr(signal, name), "interrupted\n")
