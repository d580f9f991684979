"""Results as a table in Markdown and as a chart in SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

PEERS = ("onnxruntime", "openvino")
TITLES = {"irtool": "irtool", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
Results = Mapping[str, Any]
"""`{"title": …, "threads": {"1": {engine: {"best": s, "median": s, …} or {"error": …}}}}` by network."""


def ratio(engines: Mapping[str, Any]) -> float | None:
    """irtool's best time over that of the faster peer; None where one of them has none."""
    peers = [engines[p]["best"] for p in PEERS if "best" in engines.get(p, {})]
    own = engines.get("irtool", {}).get("best")
    return own / min(peers) if own and peers else None


def geometric_mean(results: Results, threads: str) -> float | None:
    """The geometric mean of the ratios of all networks."""
    found = [r for n in results.values() if (r := ratio(n["threads"].get(threads, {}))) is not None]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


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
    difference, equal = engines[0].get("difference"), engines[0].get("equal")
    if difference is None:
        return "–"  # noqa: RUF001  # an empty cell
    if equal is None:
        return f"{difference:.0e}"
    return f"{difference:.0e}, {100 * equal:.1f} % equal, steps {engines[0]['steps']}"


def _cell(measured: Mapping[str, Any], name: str, unit: float = 1.0, digits: int = 1) -> str:
    return f"{measured[name] / unit:.{digits}f}" if measured.get(name) else "–"  # noqa: RUF001  # an empty cell


_LEFT, _WIDTH, _ROW, _BAR = 210, 760, 46, 13
_COLOURS = {"1": "#2f6f8f", "2": "#e0803c"}


def chart(results: Results, counts: list[str]) -> str:
    """Bars of irtool's time over that of the faster peer, a group for each network: left of the line at 1 irtool is faster."""
    ratios = [r for n in results.values() for t in counts if (r := ratio(n["threads"].get(t, {}))) is not None]
    most = max([1.25, *ratios]) * 1.05
    scale = (_WIDTH - _LEFT - 60) / most
    height = 70 + _ROW * len(results)
    one = _LEFT + scale
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="22" font-size="15" fill="#222222">Time of irtool over that of the faster of ONNX Runtime and '
        "OpenVINO (shorter is better)</text>",
    ]
    for i, t in enumerate(counts):
        x = _LEFT + 110 * i
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{_COLOURS.get(t, "#777777")}"/>')
        plural = "thread" if t == "1" else "threads"
        parts.append(f'<text x="{x + 18}" y="43" fill="#222222">{t} {plural}</text>')
    for row, network in enumerate(results.values()):
        top = 58 + row * _ROW
        parts.append(
            f'<text x="{_LEFT - 10}" y="{top + 20}" text-anchor="end" fill="#222222">{network["title"]}</text>'
        )
        for i, t in enumerate(counts):
            r = ratio(network["threads"].get(t, {}))
            y = top + i * (_BAR + 3)
            if r is None:
                parts.append(f'<text x="{_LEFT + 4}" y="{y + 11}" font-size="11" fill="#a02020">fails</text>')
                continue
            colour = _COLOURS.get(t, "#777777")
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{r * scale:.1f}" height="{_BAR}" fill="{colour}"/>')
            parts.append(
                f'<text x="{_LEFT + r * scale + 5:.1f}" y="{y + 11}" font-size="11" fill="#222222">{r:.2f}</text>'
            )
    parts.append(
        f'<line x1="{one:.1f}" y1="50" x2="{one:.1f}" y2="{height - 12}" stroke="#222222" stroke-dasharray="4 3"/>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
