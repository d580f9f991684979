"""An engine in a process of its own: `python -m benchmarks.llm.worker ENGINE MODEL FILE THREADS`; lines of standard input ask for measurements.

The first answer has the time from opening the model to the first logits, after the pages of FILE were dropped from the cache of the system.
`prefill` and `decode` give seconds, of one thread those that it has run, so that other work on the machine counts little; `memory` the bytes of the process beyond those before the model was opened, at most.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

from ..process_memory import peak_memory, resident_memory

PROMPT, CONTINUED, DECODED = 512, 32, 48
"""Tokens of a prefill, those before tokens are decoded one by one, and how many of these there are."""


def tokens(count: int) -> list[int]:
    """Tokens, the same in each process."""
    return [300 + 7919 * n % 30000 for n in range(count)]


def _drop_pages(path: str) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main(name: str, model: str, weights: str, threads: str) -> None:
    """Answers until standard input ends."""
    module = importlib.import_module(f"benchmarks.llm.{name}_engine")
    if name != "irtool":
        importlib.import_module(name)
    clock = time.process_time if threads == "1" else time.perf_counter
    before = resident_memory()
    _drop_pages(weights)
    start = time.perf_counter()
    engine = module.Engine(model, int(threads))
    engine.generate(tokens(1), [])
    print(json.dumps(time.perf_counter() - start), flush=True)

    def seconds(prompt: int, following: int) -> float:
        start = clock()
        engine.generate(tokens(prompt), range(300, 300 + following))
        return clock() - start

    for line in sys.stdin:
        asked = line.strip()
        if asked == "memory":
            print(json.dumps(peak_memory() - before), flush=True)
            continue
        engine.generate(tokens(8), [300])
        if asked == "decode":
            print(json.dumps((seconds(CONTINUED, DECODED) - seconds(CONTINUED, 0)) / DECODED), flush=True)
        else:
            print(json.dumps(seconds(PROMPT, 0)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
