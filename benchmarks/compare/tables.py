"""Results as a table in Markdown and as a chart in SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

PEERS = ("onnxruntime", "openvino")
TITLES = {"irtool": "irtool", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
Results = Mapping[str, Any]
"""`{"title": …, "threads": {"1": {engine: {"best": s, "median": s, …} or {"error": …}}}}` by network."""


def ratio(engines: Mapping[str, Any]) -> float | None:
    """irtool's best time over that of the faster peer; None if one of them has none."""
    peers = [engines[p]["best"] for p in PEERS if "best" in engines.get(p, {})]
    own = engines.get("irtool", {}).get("best")
    return own / min(peers) if own and peers else None


def geometric_mean(results: Results, threads: str) -> float | None:
    """The geometric mean of the ratios of all networks."""
    ratios = [r for n in results.values() if (r := ratio(n["threads"].get(threads, {}))) is not None]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def speed_table(results: Results, counts: list[str]) -> str:
    """Best and median milliseconds of each engine, and the ratio of the best to the better peer."""
    head = ["network"]
    for t in counts:
        plural = "thread" if t == "1" else "threads"
        head += [f"{TITLES[e]}, {t} {plural}" for e in ("irtool", *PEERS)] + ["ratio"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for network in results.values():
        row = [network["title"]]
        for t in counts:
            engines = network["threads"].get(t, {})
            row += [_times(engines.get(e, {})) for e in ("irtool", *PEERS)]
            r = ratio(engines)
            row.append(f"{r:.2f}" if r is not None else "–")  # noqa: RUF001  # an empty cell
        lines.append("| " + " | ".join(row) + " |")
    means = [geometric_mean(results, t) for t in counts]
    row = ["geometric mean"]
    for m in means:
        row += ["", "", "", f"{m:.2f}" if m is not None else "–"]  # noqa: RUF001  # an empty cell
    return "\n".join([*lines, "| " + " | ".join(row) + " |"]) + "\n"


def mean_sentence(results: Results, counts: list[str]) -> str:
    """The geometric means of the ratios as a sentence for README.md.

    Networks without a ratio are not counted. A count of threads without any ratio is left out; raises ValueError if all are.
    """
    means = {t: m for t in counts if (m := geometric_mean(results, t)) is not None}
    if not means:
        raise ValueError("no network has a ratio: irtool, or both other engines, failed on each")
    networks = max(sum(ratio(n["threads"].get(t, {})) is not None for n in results.values()) for t in means)
    means_by_threads = [f"{m:.2f} with {t} thread{'s' if t != '1' else ''}" for t, m in means.items()]
    return f"The geometric mean of the ratios of {networks} networks is {' and '.join(means_by_threads)}."


def with_mean_sentence(text: str, sentence: str) -> str:
    """README.md's text with this sentence in place of the one written before. Raises ValueError unless it has exactly one."""
    pattern = re.compile(r"^The geometric mean of the ratios of .*$", re.MULTILINE)
    if len(pattern.findall(text)) != 1:
        raise ValueError("README.md needs one line that begins with: The geometric mean of the ratios of")
    return pattern.sub(lambda m: sentence, text)


def scaling_table(results: Results, few: str, many: str) -> str:
    """How many times as fast each engine's best run is with `many` threads as with `few`, and how long a processor waited for another."""
    head = ["network", *(TITLES[e] for e in ("irtool", *PEERS)), "handover, ns"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for network in results.values():
        row = [network["title"]]
        for e in ("irtool", *PEERS):
            times = [network["threads"].get(t, {}).get(e, {}).get("best") for t in (few, many)]
            row.append(f"{times[0] / times[1]:.2f}" if all(times) else "–")  # noqa: RUF001  # an empty cell
        waited = network["threads"].get(many, {}).get("irtool", {}).get("handover")
        row.append(f"{waited * 1e9:.0f}" if waited else "–")  # noqa: RUF001  # an empty cell
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _times(measured: Mapping[str, Any]) -> str:
    if "best" not in measured:
        return "fails"
    return f"{_ms(measured['best'])} ({_ms(measured['median'])})"


def _ms(seconds: float) -> str:
    ms = seconds * 1e3
    return f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def resource_table(results: Results, threads: str) -> str:
    """Seconds from the file to the first result, bytes on disk, and peak memory."""
    head = ["network", "first result, s: irtool built here", "built before", *(TITLES[p] for p in PEERS)]
    head += ["on disk, MB: irtool", "ONNX file", "memory, MB: irtool", *(TITLES[p] for p in PEERS), "difference"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for network in results.values():
        engines = network["threads"].get(threads, {})
        own = engines.get("irtool", {})
        row = [network["title"], _cell(own, "first_seconds"), _cell(own, "opened_seconds", digits=3)]
        row += [_cell(engines.get(p, {}), "first_seconds") for p in PEERS]
        row += [_cell(own, "bytes", 1e6), _cell(engines.get("onnxruntime", {}), "bytes", 1e6)]
        row += [_cell(engines.get(e, {}), "memory", 1e6, 0) for e in ("irtool", *PEERS)]
        row.append(_difference([engines.get(e, {}) for e in ("irtool", *PEERS)]))
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _difference(engines: list[Mapping[str, Any]]) -> str:
    """The difference of the first one's output, unless the output of one is empty."""
    if any(e.get("empty") for e in engines):
        return "shows nothing"
    difference = engines[0].get("difference")
    return f"{difference:.0e}" if difference is not None else "–"  # noqa: RUF001  # an empty cell


def wrong_outputs(results: Results, most: float) -> list[str]:
    """Those of irtool that are not finite, or differ from the reference's by more than so much of the largest output."""
    return [
        f"{network['title']}, threads {t}: irtool's output differs by {difference:.0e} of the largest"
        for network in results.values()
        for t, engines in network["threads"].items()
        if (difference := engines.get("irtool", {}).get("difference")) is not None and not difference <= most
    ]


def values_table(results: Results, threads: str) -> str:
    """The shares of equal quantized values, of outputs and of all quantized tensors, and the steps between the others."""
    head = ["network", "outputs", "irtool, reference", "irtool, ONNX Runtime", "ONNX Runtime, reference"]
    head += ["layer by layer: tensors", "values", "irtool, reference", "ONNX Runtime, reference"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for network in results.values():
        engines, layers = network["threads"].get(threads, {}), network["layers"]
        own, peer = engines.get("irtool", {}), engines.get("onnxruntime", {})
        row = [network["title"], f"{own.get('outputs', 0):,}", _equal(own, 1), _equal(own, 1, "alike", "apart")]
        row += [_equal(peer, 1), str(layers["irtool"]["tensors"]), f"{layers['irtool']['values']:,}"]
        row += [_equal(layers[e], 4) for e in ("irtool", "onnxruntime")]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _equal(agreement: Mapping[str, Any], digits: int, share: str = "equal", steps: str = "steps") -> str:
    """The share of equal values, never rounded up to all, and how many steps others are away."""
    if agreement.get(share) is None:
        return "–"  # noqa: RUF001  # an empty cell
    if not agreement[steps]:
        return "all"
    unit = 10**digits
    return f"{math.floor(100 * agreement[share] * unit) / unit:.{digits}f} %, {agreement[steps]} away"


def _cell(measured: Mapping[str, Any], name: str, unit: float = 1.0, digits: int = 1) -> str:
    return f"{measured[name] / unit:.{digits}f}" if measured.get(name) else "–"  # noqa: RUF001  # an empty cell


_LEFT, _WIDTH, _TOP, _ROW, _BAR = 214, 480, 92, 40, 15
"""Pixels: width of names, width of all, height above the first bar, of a row and of a bar. It can be read on a phone."""
_HEADING = ("Time of irtool over that of the faster of", "ONNX Runtime and OpenVINO: shorter is better")
_STYLE = """<style>
  text { fill: #1d2430; } .ground { fill: #ffffff; } .one { stroke: #1d2430; stroke-dasharray: 4 3; } .fails { fill: #a02020; }
  .t1 { fill: #2f6f8f; } .t2 { fill: #e8924f; } .on { font-size: 12px; text-anchor: end; } .on1 { fill: #ffffff; } .on2 { fill: #1d2430; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9ef; } .ground { fill: #14181f; } .one { stroke: #e6e9ef; } .fails { fill: #ff9c9c; }
    .t1 { fill: #74b3d1; } .t2 { fill: #e8924f; } .on1, .on2 { fill: #10141a; }
  }
</style>"""


def chart(results: Results, counts: list[str]) -> str:
    """Bars of irtool's time over that of the faster peer, a group for each network: left of the line at 1 irtool is faster."""
    return draw_ratios(
        {n["title"]: {t: ratio(n["threads"].get(t, {})) for t in counts} for n in results.values()}, counts
    )


def draw_ratios(
    rows: Mapping[str, Mapping[str, float | None]], counts: Sequence[str], heading: tuple[str, str] = _HEADING
) -> str:
    """The chart of ratios by the title of a network and the number of threads, below two lines of text. None: irtool or all peers fail; numbers of
    threads that a row does not have are left out."""
    ratios = [r for of in rows.values() for r in of.values() if r is not None]
    scale = (_WIDTH - _LEFT - 12) / max([1.05, *ratios])
    height = _TOP + _ROW * len(rows) + 4
    one = _LEFT + scale
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="13">',
        _STYLE,
        f'<rect class="ground" width="{_WIDTH}" height="{height}" rx="4"/>',
        *(f'<text x="12" y="{y}" font-size="14">{line}</text>' for y, line in zip((22, 40), heading, strict=True)),
        f'<line class="one" x1="{one:.1f}" y1="{_TOP - 10}" x2="{one:.1f}" y2="{height - 6}"/>',
        f'<text x="{one:.1f}" y="{_TOP - 15}" text-anchor="middle">1</text>',
    ]
    for i, t in enumerate(counts):
        x = 12 + 100 * i
        parts.append(f'<rect class="t{i % 2 + 1}" x="{x}" y="54" width="12" height="12"/>')
        parts.append(f'<text x="{x + 18}" y="65">{t} {"thread" if t == "1" else "threads"}</text>')
    for row, (title, of) in enumerate(rows.items()):
        top = _TOP + row * _ROW
        parts.append(f'<text x="{_LEFT - 10}" y="{top + 20}" text-anchor="end">{title}</text>')
        for i, t in enumerate(counts):
            parts += _bar(of[t], i % 2 + 1, top + i * (_BAR + 2), scale) if t in of else []
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(r: float | None, colour: int, y: int, scale: float) -> list[str]:
    """A bar with its number, inside of it if there is room."""
    if r is None:
        return [f'<text class="fails" x="{_LEFT + 4}" y="{y + 12}" font-size="12">fails</text>']
    long = r * scale
    number = (
        f'x="{_LEFT + long - 5:.1f}" class="on on{colour}"'
        if long > 40
        else f'x="{_LEFT + long + 5:.1f}" font-size="12"'
    )
    return [
        f'<rect class="t{colour}" x="{_LEFT}" y="{y}" width="{long:.1f}" height="{_BAR}"/>',
        f'<text {number} y="{y + 12}">{r:.2f}</text>',
    ]
