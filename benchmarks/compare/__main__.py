"""The command line of the side-by-side."""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irtool.backends.toolchain.compiler import Compiler

from .. import __main__ as benchmarks
from ..sizes.section import section_of, with_section
from . import older
from .export import NETWORKS
from .precisions import PRECISIONS
from .tables import (
    chart,
    mean_sentence,
    resource_table,
    scaling_table,
    speed_table,
    values_table,
    with_mean_sentence,
    wrong_outputs,
)
from .turns import Measured, measure
from .values import Agreement
from .worker import ENGINES

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "build" / "compare"

VALUES = """## Values

The reference is ONNX Runtime with `ORT_DISABLE_ALL`: it computes, operator by operator and in float32, what the file says. ONNX Runtime in this
table is the one that is timed above, with its optimizations. Shown are shares of quantized values that are equal in two of the three, and how many
steps the others are away at most.

Outputs are those of whole networks. Sums in float32, softmax and normalisations are rounded in another order by each; a value next to a half then goes to
the other neighbour, and all layers behind it have other inputs: of networks with random weights little remains, and ONNX Runtime does not agree
with itself either. Layer by layer, the network is cut wherever a tensor is quantized (`benchmarks/compare/values.py`), and each layer gets the
reference's own values: what differs there is a layer's own doing. irtool's sums are of integers, and exact.

"""

_OLDER = """ irtool builds with
`--mcpu x86-64-v3`; the other engines, which choose by `cpuid`, are told that the processor has nothing beyond that level
(`benchmarks/compare/older.py`)."""


def main() -> None:
    """Exports what is missing, measures, prints; with --write into README.md and docs, too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument(
        "files",
        nargs="*",
        help="ONNX files instead of the project's networks, each with its inputs by name beside it: NAME.npz",
    )
    parser.add_argument("--only", default="", help="networks, separated by commas")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=6.0, help="of runs for each engine, network and thread count")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the precision's page of docs, its chart, and README.md's geometric mean",
    )
    parser.add_argument(
        "--mcpu",
        choices=("native", older.LEVEL),
        default="native",
        help=f"processor that irtool builds for; {older.LEVEL}: the other engines get no later instructions, either, and --write "
        "writes a page of its own",
    )
    options = parser.parse_args()
    if options.files and (options.only or options.write):
        parser.error("--only and --write are for the project's networks: leave them out where files are given")
    precision = PRECISIONS[options.precision]
    chosen = options.only.split(",") if options.only else list(precision.networks or NETWORKS)
    unknown = [n for n in chosen if n not in NETWORKS]
    if unknown:
        sys.exit(f"unknown network {unknown[0]}; there are {', '.join(NETWORKS)}")
    exported = [Path(f) for f in options.files]
    for path in exported:
        for needed in (path, path.with_suffix(".npz")):
            if not needed.is_file():
                parser.error(f"{needed} is missing" + (": the inputs of the model by name" if needed != path else ""))
    counts = options.threads.split(",")
    compileall.compile_dir(ROOT / "irtool", quiet=2)  # the others are installed with their bytecode
    results: dict[str, Any] = {}
    if exported:
        for path in exported:
            results[str(path)] = _compared(path, path.stem, counts, options)
        print(speed_table(results, counts), resource_table(results, counts[0]), sep="\n")
    for name in chosen if not exported else ():
        results[name] = _compared(export_model(name), NETWORKS[name].title, counts, options)
    wrong = wrong_outputs(results, precision.difference)
    if exported:
        sys.exit("\n".join(wrong) or None)
    page = precision.page + ("_avx2" if options.mcpu == older.LEVEL else "")
    text = _page(results, counts, options, page)
    print(text)
    if wrong:
        sys.exit("nothing is written: times of wrong outputs say nothing\n" + "\n".join(wrong))
    if options.write:
        path = ROOT / "docs" / f"{page}.md"
        other = section_of(path.read_text(encoding="utf-8")) if path.exists() else ""  # `benchmarks.sizes` writes it
        path.write_text(with_section(text, other), encoding="utf-8")
        (ROOT / "docs" / f"{page}.svg").write_text(chart(results, counts), encoding="utf-8")
        if page == "compare":
            readme = ROOT / "README.md"
            written = with_mean_sentence(readme.read_text(encoding="utf-8"), mean_sentence(results, counts))
            readme.write_text(written, encoding="utf-8")


def _compared(exported: Path, title: str, counts: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """What the engines need for the model in the precision that was asked for, said as soon as it is known."""
    precision = PRECISIONS[options.precision]
    path = precision.model(exported)
    result: dict[str, Any] = {"title": title, "threads": {}}
    for t in counts:
        measured = measure(path, list(ENGINES), int(t), options.seconds, options.precision, options.mcpu)
        result["threads"][t] = {e: _summary(m) for e, m in measured.items()}
        summary = ", ".join(f"{e} {m.error or f'{m.best * 1e3:.2f} ms'}" for e, m in measured.items())
        own = measured["irtool"]
        if own.equal is not None:
            summary += f"; outputs as the file says {100 * own.equal:.2f} %, others {own.steps} steps away at most"
        print(f"{title}, threads {t}: {summary}", file=sys.stderr, flush=True)
    if precision.quantized:
        result["layers"] = _layers(path, options.mcpu)
    return result


def export_model(name: str) -> Path:
    """The ONNX file of a network; torch does its work in a process of its own."""
    path = MODELS / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, "-m", "benchmarks.compare.export", name, str(MODELS)], check=True)
    return path


def _layers(path: Path, mcpu: str) -> dict[str, Any]:
    """`values.compare_layers` of a network, in a process of its own, with the shares of equal values; said as well."""
    command = [sys.executable, "-m", "benchmarks.compare.values", str(path), mcpu]
    environment = {**os.environ, **older.environment(mcpu)}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    agreements: dict[str, Any] = json.loads(output.splitlines()[-1])
    for engine, a in agreements.items():
        a["equal"] = Agreement(**a).equal
        print(f"  layer by layer, {engine}: {a['unequal']} of {a['values']} differ; {a['worst']}", file=sys.stderr)
    return agreements


def _summary(m: Measured) -> dict[str, Any]:
    if m.error:
        return {"error": m.error}
    settings = {k: v for k, v in asdict(m).items() if k not in ("times", "error", "turns")}
    return {"best": m.best, "median": m.median, "runs": len(m.times), **settings}


def _page(results: dict[str, Any], counts: list[str], options: argparse.Namespace, page: str) -> str:
    precision = PRECISIONS[options.precision]
    packages = ("onnxruntime", "openvino", "torch", "transformers")
    setting = benchmarks.setting(packages, Compiler(mcpu=options.mcpu).machine().vector_bytes)
    failures = [
        f"- {n['title']}, {e}, threads {t}: {m.get('error') or m['empty']}\n"
        for n in results.values()
        for t, engines in n["threads"].items()
        for e, m in engines.items()
        if m.get("error") or m.get("empty")
    ]
    reference = "the reference's (see Values)" if precision.quantized else "ONNX Runtime's"
    return f"""# irtool beside ONNX Runtime and OpenVINO{_variant(options)}

`{_command()}` wrote this page: {setting}.

{precision.description}{_OLDER if options.mcpu == older.LEVEL else ""} Each engine has a process of its
own; the processes take turns, {options.seconds:g} s in sum for each, and are stopped while others run. Times are milliseconds of a run: the best, and the median in
parentheses. The ratio is irtool's best time over that of the better peer: below 1 irtool is faster.

![Ratios as a chart]({page}.svg)

## Speed

{speed_table(results, counts)}
{_scaling(results, counts)}## Start, size and memory

With {counts[0]} thread{"s" if counts[0] != "1" else ""}. "Built here" is the whole way from the ONNX file, the C compiler
included; "built before" opens the library of an earlier build. The difference is that of irtool's output from {reference},
relative to the largest output.

{resource_table(results, counts[0])}
{VALUES + values_table(results, counts[0]) + chr(10) if precision.quantized else ""}{"## Failures" + chr(10) + chr(10) + "".join(failures) if failures else ""}"""


def _scaling(results: dict[str, Any], counts: list[str]) -> str:
    """The section on threads; nothing where only one count was measured."""
    if len(counts) < 2:
        return ""
    few, many = counts[0], counts[-1]
    plain = "one thread" if few == "1" else f"{few} threads"
    return (
        f"## Threads\n\nHow many times as fast {many} threads are as {plain}: the best run of each. The last column says how long "
        "one\nprocessor waited for what the other one had written, in the middle: some 30 ns where they have a cache in common,\n"
        "several times as much where they do not, as a virtual machine's may at times. If every engine had turns of the first\n"
        "kind, those of the second do not count.\n\n"
        f"{scaling_table(results, few, many)}\n"
    )


def _variant(options: argparse.Namespace) -> str:
    """What the title says of another precision and processor."""
    parts = [options.precision] if options.precision != "float32" else []
    return "".join(f", {s}" for s in [*parts, *([options.mcpu] if options.mcpu != "native" else [])])


def _command() -> str:
    """The command line that writes the page."""
    return shlex.join(["python", "-m", "benchmarks.compare", *sys.argv[1:]])


if __name__ == "__main__":
    main()
