"""docs/compare_llm.md."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import __main__ as benchmarks
from .worker import CONTINUED, DECODED, PROMPT

_HEAD = """# Language models beside llama.cpp

`python -m benchmarks.llm --write` wrote this page: {processor}, {cores} cores, load {load:.1f} when it was written, irtool {version}, llama-cpp-python {other} built
from its source package with `GGML_NATIVE`, {date}. `make compare-llm` does both.

Both engines have the same GGUF file: shapes of known networks, random weights, all matrices in one format. Both quantize activations to 8 bits (irtool:
`quantize --activations int8`) and keep caches in float16. Each has a process of its own; the processes take turns and are stopped while others run; times are the best of three, of
one thread the time that it has run.

- decode: tokens in a second, {decoded} tokens one by one behind {continued}; streamed: that rate times the bytes of the file.
- prefill: tokens in a second, {prompt} tokens at once.
- first token: milliseconds from opening the model to the first logits, its file not in the cache of the system.
- memory: of the process, beyond that before the model was opened, with mapped weights, MB.

| network | format | threads | decode, irtool | llama.cpp | ratio | streamed, GB/s | prefill, irtool | llama.cpp | ratio | first token, irtool | llama.cpp | memory, irtool | llama.cpp |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""

_TAIL = """
A ratio above 1 says that irtool is faster. ONNX Runtime GenAI and OpenVINO GenAI are not measured yet.

A copy of 256 MB takes its bytes at {copy:.1f} GB/s on this machine (read and written).

## Fewer bits in activations and caches

The trained network of `samples/chat`, whose weights have 8 bits: the divergence (Kullback and Leibler) of the probabilities of the next token from those with float
activations and float32 caches, over {tokens} tokens that it wrote itself.

"""


@dataclass(frozen=True)
class Measurement:
    """What an engine takes.

    Attributes:
        first: seconds to the first logits.
        decode, prefill: seconds for a token, and for a prompt.
        memory: bytes.
    """

    first: float
    decode: float = float("inf")
    prefill: float = float("inf")
    memory: int = 0

    def with_seconds(self, what: str, seconds: float) -> Measurement:
        """The same with a further time, of which the best counts."""
        return replace(self, **{what: min(seconds, getattr(self, what))})

    def with_memory(self, count: int) -> Measurement:
        """The same with so many bytes."""
        return replace(self, memory=count)


Row = tuple[str, str, int, dict[str, Measurement], int]


def page(rows: Sequence[Row], divergence: Sequence[str], peers: str, load: float, version: str) -> str:
    """The text of the page."""
    from .divergence import TOKENS

    head = _HEAD.format(
        processor=benchmarks.processor(),
        cores=os.cpu_count(),
        load=load,
        version=version,
        other=_version_of(peers),
        date=time.strftime("%Y-%m-%d"),
        decoded=DECODED,
        continued=CONTINUED,
        prompt=PROMPT,
    )
    tail = _TAIL.format(copy=_copy_rate(), tokens=TOKENS)
    return head + "".join(map(_line, rows)) + tail + "\n".join([*divergence, ""])


def _line(row: Row) -> str:
    name, form, threads, measured, size = row
    own, other = measured["irtool"], measured["llama_cpp"]
    cells = [
        name,
        form,
        str(threads),
        f"{1 / own.decode:.1f}",
        f"{1 / other.decode:.1f}",
        f"{other.decode / own.decode:.2f}",
    ]
    cells += [f"{size / own.decode / 1e9:.1f}"]
    cells += [f"{PROMPT / own.prefill:.0f}", f"{PROMPT / other.prefill:.0f}", f"{other.prefill / own.prefill:.2f}"]
    cells += [f"{1e3 * own.first:.0f}", f"{1e3 * other.first:.0f}"]
    cells += [f"{own.memory / 1e6:.0f}", f"{other.memory / 1e6:.0f}"]
    return f"| {' | '.join(cells)} |\n"


def _version_of(peers: str) -> str:
    command = [peers, "-c", "from importlib.metadata import version; print(version('llama-cpp-python'))"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _copy_rate() -> float:
    """Gigabytes in a second that a copy reads and writes, each counted."""
    import numpy as np

    source = np.ones(1 << 28, np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best / 1e9
