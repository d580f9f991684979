"""docs/compare_llm.md and its chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import __main__ as benchmarks
from ..compare.tables import draw_ratios
from .memory_rate import reading_rate
from .worker import CONTINUED, DECODED, PROMPT

ENGINES = {
    "irtool": "irtool",
    "llama_cpp": "llama.cpp",
    "onnxruntime_genai": "ONNX Runtime GenAI",
    "openvino_genai": "OpenVINO GenAI",
}
"""The engines by the name of their module, as the page names them."""

_HEAD = """# Language models beside llama.cpp, ONNX Runtime GenAI and OpenVINO GenAI

`python -m benchmarks.llm --write` wrote this page: {setting}, load {load:.1f} when it was written. `make compare-llm` builds llama.cpp from its source
package with `GGML_NATIVE`, installs the others, and does the same.

All engines have the same weights: shapes of known networks, random weights, all matrices in one format of GGUF. ONNX Runtime GenAI has them as
`MatMulNBits` with scales in float32, OpenVINO GenAI as the model that it makes of the GGUF file. All quantize activations to 8 bits (irtool:
`quantize --activations int8`); caches are in float16, in ONNX Runtime GenAI in float32. Each engine has a process of its own; the processes take turns
and are stopped while others run; times are the best of three, of one thread the time that the process has run.

A ratio above 1 says that irtool is faster, or takes less.

![Time of irtool over that of llama.cpp](compare_llm.svg)
"""

_DECODE = """
## Decoding

Tokens in a second, {decoded} one by one behind {continued}. Streamed: that rate times the bytes of the file, and its share of the rate at which memory is read:
{rates}, when the page was written. Smaller networks stay in the caches of the processor.

"""

_PREFILL = """
## Prefill

Tokens in a second, {prompt} at once; irtool takes them in chunks of 128.

"""

_FIRST = """
## First token

Milliseconds from opening the model to the first logits, its file not in the cache of the system. A table of embeddings in Q8_0 that is the head, too,
lies twice in the file of irtool: in rows, and as dot products read it.

"""

_MEMORY = """
## Memory

Of the process, beyond that before the model was opened, with mapped weights, MB.

"""

_DIVERGENCE = """
## Fewer bits in activations and caches

The trained network of `samples/chat`, whose weights have 8 bits: the divergence (Kullback and Leibler) of the probabilities of the next token from those with float
activations and float32 caches, over {tokens} tokens that it wrote itself.

"""


@dataclass(frozen=True)
class Measurement:
    """The cost of an engine.

    Attributes:
        first: seconds to the first logits.
        decode, prefill: seconds for a token, and for a prompt.
        memory: bytes.
    """

    first: float = float("inf")
    decode: float = float("inf")
    prefill: float = float("inf")
    memory: int = 0

    def with_seconds(self, what: str, seconds: float) -> Measurement:
        """The same with a further time, of which the best counts."""
        return replace(self, **{what: min(seconds, getattr(self, what))})

    def with_memory(self, count: int) -> Measurement:
        """The same with so many bytes."""
        return replace(self, memory=count)


@dataclass(frozen=True)
class Row:
    """The measurements of a network in a format with a number of threads.

    Attributes:
        engines: by the name of their module; those that work.
        size: of the GGUF file, bytes.
    """

    network: str
    form: str
    threads: int
    engines: dict[str, Measurement]
    size: int

    def ratio(self, what: str, peers: Sequence[str]) -> float | None:
        """The least of a quantity among peers over that of irtool; None if none of them works."""
        others = [getattr(self.engines[p], what) for p in peers if p in self.engines]
        return min(others) / getattr(self.engines["irtool"], what) if others else None


def page(rows: Sequence[Row], divergence: Sequence[str], peers: str, load: float) -> str:
    """The text of the page; `peers` is the Python with the packages of the peers."""
    from irtool.backends.toolchain.compiler import Compiler

    from .divergence import TOKENS

    rates = {n: reading_rate(n) for n in sorted({r.threads for r in rows})}

    def streamed(row: Row) -> list[str]:
        rate = row.size / row.engines["irtool"].decode
        return [f"{rate / 1e9:.1f}", f"{100 * rate / rates[row.threads]:.0f} %"]

    setting = benchmarks.setting((), Compiler().machine().vector_bytes)
    versions = _versions(peers)
    text = _HEAD.format(setting=f"{setting}, {versions}", load=load)
    listed = ", ".join(f"{r / 1e9:.1f} GB/s with {n} {'thread' if n == 1 else 'threads'}" for n, r in rates.items())
    text += _DECODE.format(decoded=DECODED, continued=CONTINUED, rates=listed)
    text += _table(rows, "decode", lambda s: f"{1 / s:.1f}", ["streamed, GB/s", "of reading"], streamed)
    text += _PREFILL.format(prompt=PROMPT) + _table(rows, "prefill", lambda s: f"{PROMPT / s:.0f}")
    text += _FIRST + _table(rows, "first", lambda s: f"{1e3 * s:.0f}")
    text += _MEMORY + _table(rows, "memory", lambda count: f"{count / 1e6:.0f}")
    return text + _DIVERGENCE.format(tokens=TOKENS) + "\n".join([*divergence, ""])


def chart(rows: Sequence[Row]) -> str:
    """The times of irtool over those of llama.cpp, of decoding and of prefill."""
    ratios: dict[str, dict[str, float | None]] = {}
    for row in rows:
        for what in ("decode", "prefill"):
            ratio = row.ratio(what, ["llama_cpp"])
            if ratio is not None:
                title = f"{row.network.partition('-')[0]} {row.form} {what}"
                ratios.setdefault(title, {})[str(row.threads)] = 1 / ratio
    heading = ("Time of irtool over that of llama.cpp,", "decoding and prefill: shorter is better")
    return draw_ratios(ratios, sorted({str(r.threads) for r in rows}), heading)


def _table(
    rows: Sequence[Row],
    what: str,
    form: Callable[[float], str],
    further: Sequence[str] = (),
    cells: Callable[[Row], list[str]] = lambda row: [],
) -> str:
    """A quantity of all engines, and the ratios of the peers to irtool; further columns with their cells."""
    others = [e for e in ENGINES if e not in ("irtool", "llama_cpp")]
    head = [
        "network",
        "format",
        "threads",
        *ENGINES.values(),
        "llama.cpp's ratio",
        "ratio of the better other",
        *further,
    ]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        numbers = [form(getattr(row.engines[e], what)) if e in row.engines else "none" for e in ENGINES]
        ratios = [row.ratio(what, p) for p in (["llama_cpp"], others)]
        both = ["none" if r is None else f"{r:.2f}" for r in ratios]
        lines.append([row.network, row.form, str(row.threads), *numbers, *both, *cells(row)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _versions(peers: str) -> str:
    """The packages of the peers with their versions."""
    import subprocess

    names = ["llama-cpp-python", "onnxruntime-genai", "openvino-genai"]
    code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names}))"
    return subprocess.run([peers, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
