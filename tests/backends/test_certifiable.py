"""C for certification: the values of the optimised profile, the rules of MISRA C:2012, bounds of loops, and the evidence beside it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import irtool
from benchmarks.certification.eva import alarms, harness
from benchmarks.certification.misra import Finding, find
from benchmarks.networks.mlperf_tiny import int8_network
from irtool.backends.c.certifiable.functions import definitions as plain_definitions
from irtool.backends.formulas.support import INLINE, Helper, definitions
from irtool.diagnostics import IrError, UsageError
from irtool.passes.core.bind import bind_params
from irtool.tir import dtypes

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_cppcheck = pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck (Debian: cppcheck)")
needs_frama = pytest.mark.skipif(shutil.which("frama-c") is None, reason="needs frama-c (Debian: frama-c-base)")

HEAD = '#[version = "0.0.5"]\n'
NET = """\
def @main(%x: Tensor[(1, 2, 6, 6), float32], %q: Tensor[(1, 2, 6, 6), int8], %w: Tensor[(4, 2, 3, 3), int8], %n: Tensor[(2, 6), int32]) {
  let %a = clip(nn.conv2d(%q, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=4, out_dtype="int32"), a_min=-90f, a_max=90f);
  let %b = nn.softmax(mean(%x, axis=[2, 3]));
  let %c = cast(%x, dtype="int32");
  let %d = where(logical_or(greater(%x, 0.5f), isnan(%x)), %x, floor_divide(%x, 2f));
  let %e = bitwise_xor(right_shift(%n, 2), bitwise_and(%n, left_shift(%n, 3)));
  let %f = floor_mod(%n, -7);
  (%a, %b, %c, %d, %e, %f, cast(logical_and(less(%n, 3), greater(%n, -3)), dtype="float32"), power(%n, abs(%f)), cast(%n, dtype="bool"))
}
"""
"""Sums of bytes in padded windows, floats and truth values, shifts and divisions below 0."""


def parsed(text: str = NET) -> irtool.Module:
    return irtool.parse(HEAD + text, filename="net.relay")


def inputs(module: irtool.Module) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    values = []
    for p in module["main"].params:
        shape = tuple(int(d) for d in p.checked_type.shape)
        drawn = rng.standard_normal(shape) if p.checked_type.dtype == "float32" else rng.integers(-100, 100, shape)
        values.append(drawn.astype(p.checked_type.dtype))
    return values


def sources(folder: Path, module: irtool.Module, **options: Any) -> Path:
    irtool.build(module, profile="certifiable", emit="c", name="net", out_dir=folder, **options)
    return folder / "net.c"


def required(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.category != "advisory"]


@needs_cc
def test_values_are_those_of_the_interpreter_and_of_the_optimised_profile() -> None:
    module = parsed()
    x = inputs(module)
    results = irtool.build(module, profile="certifiable").run(x)
    optimised = irtool.build(module).run(x)
    for n, (a, b, c) in enumerate(zip(results, optimised, irtool.evaluate(module, x), strict=True)):
        assert a.dtype == b.dtype == c.dtype
        if a.dtype == np.float32:
            np.testing.assert_allclose(a, c, rtol=1e-6, atol=1e-7, err_msg=str(n))
        else:
            np.testing.assert_array_equal(a, c, err_msg=str(n))
            np.testing.assert_array_equal(a, b, err_msg=str(n))


@needs_cc
def test_bits_of_a_quantized_network_are_those_of_the_optimised_profile() -> None:
    module = irtool.infer_types(bind_params(*int8_network("keyword_spotting", softmax=False)))
    x = np.random.default_rng(5).uniform(-1, 1, (1, 1, 49, 10)).astype("float32")
    result = irtool.build(module, profile="certifiable").run([x])
    np.testing.assert_array_equal(result, irtool.build(module).run([x]))


KINDS = [
    *(
        ("add", "sub", "mul", "shl", "shr", "and", "or", "xor", "min", "max")
        + ("truncdiv", "truncmod", "floordiv", "floormod", "pow")
    ),
    *("popcount", "clz"),
]
EDGES = (0, 1, 2, 3, 7, 8, 31, 63, -1, -2, -7, -31, 100, -100, 127, -128)


@needs_cc
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_support_functions_have_the_values_of_the_optimised_ones(dtype: str, tmp_path: Path) -> None:
    """The operators of C that the optimised profile has in their place are checked by the wrapped sums of words."""
    signed = not dtypes.is_unsigned(dtype)
    word = "uint64_t" if dtypes.bits(dtype) == 64 else "uint32_t"
    signs = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
    helpers = [Helper(k, (dtype,)) for k in KINDS]
    plain = "\n".join(plain_definitions(helpers))
    optimised = "\n".join(definitions(h for h in helpers if h.kind not in signs)).replace("irt_", "fast_")
    t = f"{dtype}_t"
    edges = [v for v in EDGES if signed or v >= 0]
    lines = [f"static const {t} edges[] = {{{', '.join(map(str, edges))}, ({t})0x7fffffff, ({t})0x80}};"]
    lines += ["int main(void) {", "  unsigned i, k, wrong = 0;"]
    lines += [
        f"  for (i = 0; i < {len(edges) + 2}; ++i) for (k = 0; k < {len(edges) + 2}; ++k) {{",
        f"    const {t} a = edges[i], b = edges[k];",
    ]
    for h in helpers:
        if h.kind in signs:
            expected = f"({t})(({word})a {signs[h.kind]} ({word})b)"
        else:
            expected = f"fast_{h.name[4:]}(a{'' if h.kind in ('popcount', 'clz') else ', b'})"
        call = f"{h.name}(a{'' if h.kind in ('popcount', 'clz') else ', b'})"
        lines.append(f'    if ({call} != {expected}) ++wrong, printf("{h.name} of %ld %ld\\n", (long)a, (long)b);')
    lines += ["  }", "  return wrong != 0;", "}", ""]
    headers = ["#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>", "#include <stdio.h>"]
    (tmp_path / "t.c").write_text("\n".join([*headers, *INLINE, optimised, plain, *lines]))
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits", "-o", "t", "t.c", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    answer = subprocess.run(["./t"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


@needs_cc
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_conversions_from_floats_have_the_values_of_the_optimised_ones(source: str, tmp_path: Path) -> None:
    helpers = [Helper("to", (source, f"{s}int{w}")) for s in ("", "u") for w in (8, 16, 32, 64)]
    helpers += [Helper(k, (source,)) for k in ("min", "max", "minimum", "maximum", "sigmoid")]
    helpers += (
        [Helper("odd", ("float64",))]
        if source == "float64"
        else [Helper("flushed_exp", ("float32",)), Helper("f2h"), Helper("f2b")]
    )
    plain = "\n".join(plain_definitions(helpers))
    optimised = "\n".join(definitions(helpers)).replace("irt_", "fast_").replace("IRT_INLINE", "static")
    t = "float" if source == "float32" else "double"
    lines = [
        f"static const {t} edges[] = {{0, -0.5, 1.5, -2.5, 127, 300, -300, 65520, 1e-7, 6e-8, 3e9, -3e9, 1e19, -1e19, 1e30, -100, INFINITY, -INFINITY, NAN}};"
    ]
    lines += [
        "int main(void) {",
        "  unsigned i, k, wrong = 0;",
        "  for (i = 0; i < 19; ++i) for (k = 0; k < 19; ++k) {",
        f"    const {t} a = edges[i], b = edges[k];",
        "    (void)b;",
    ]
    for h in helpers:
        arguments = "(a, b)" if h.kind.startswith("m") else "(a)"
        call, expected = f"{h.name}{arguments}", f"fast_{h.name[4:]}{arguments}"
        same = f"({call} == {expected} || ({call} != {call} && {expected} != {expected}))"
        lines.append(f'    if (!{same}) ++wrong, printf("{h.name} of %g %g\\n", (double)a, (double)b);')
    lines += ["  }", "  return wrong != 0;", "}", ""]
    headers = ["#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>", "#include <stdio.h>"]
    (tmp_path / "t.c").write_text("\n".join([*headers, optimised, plain, *lines]))
    subprocess.run(["cc", "-std=c99", "-o", "t", "t.c", "-lm"], cwd=tmp_path, check=True)
    answer = subprocess.run(["./t"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


@needs_cppcheck
def test_nothing_that_misra_requires_is_missing(tmp_path: Path) -> None:
    source = sources(tmp_path, parsed())
    assert required(find([source], tmp_path)) == []


@needs_cppcheck
def test_support_functions_keep_what_misra_requires(tmp_path: Path) -> None:
    dtype_list = ["int8", "uint8", "int32", "uint32", "int64", "uint64"]
    helpers = [Helper(k, (d,)) for d in dtype_list for k in KINDS]
    helpers += [Helper("to", (s, d)) for s in ("float32", "float64") for d in dtype_list]
    helpers += [Helper("f2h"), Helper("h2f"), Helper("f2b"), Helper("b2f"), Helper("reinterpret", ("float32", "int32"))]
    text = "\n\n".join(plain_definitions(helpers))
    source = tmp_path / "functions.c"
    source.write_text(f"#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n\n{text}\n")
    assert required(find([source], tmp_path)) == []


@needs_cppcheck
def test_a_finding_has_its_rule_and_its_line(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text(
        "#include <stdint.h>\n\nint32_t f(uint32_t a);\nint32_t f(uint32_t a) {\n  if (a) return (int32_t)(a + 1u);\n  return 0;\n}\n"
    )
    rules = {(f.rule, f.line, f.category) for f in find([source], tmp_path)}
    assert {("14.4", 5, "required"), ("15.6", 5, "required"), ("15.5", 5, "advisory")} <= rules


@needs_frama
def test_no_statement_is_undefined(tmp_path: Path) -> None:
    text = """\
def @main(%x: Tensor[(1, 2, 6, 6), float32]) {
  let %q = cast(clip(multiply(%x, 100f), a_min=-128f, a_max=127f), dtype="int8");
  let %c = nn.conv2d(%q, ones(shape=[2, 2, 3, 3], dtype="int8"), padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=2, out_dtype="int32");
  right_shift(%c, 3)
}
"""
    sources(tmp_path, parsed(text))
    (tmp_path / "harness.c").write_text(harness("net", {"x": 72}, {"out": 72}).replace("float out", "int32_t out"))
    assert alarms(tmp_path, "net", 300) == []


def test_every_loop_has_its_bound_in_the_flow_facts(tmp_path: Path) -> None:
    lines = sources(tmp_path, parsed()).read_text().split("\n")
    facts = {
        int(e.attrib["line"]): int(e.attrib["maxcount"]) for e in ElementTree.parse(tmp_path / "net.ffx").getroot()
    }
    heads = {n for n, line in enumerate(lines, 1) if re.match(r" *(for|while|do)\b", line)}
    assert facts.keys() == heads
    assert facts
    for n, bound in facts.items():
        written = re.search(r"< (\d+)u?; ", lines[n - 1])
        assert written is not None
        assert int(written[1]) == bound


def test_functions_have_one_exit_and_no_extension(tmp_path: Path) -> None:
    text = sources(tmp_path, parsed()).read_text()
    for function in re.findall(r"^[^ /#].*\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        assert function.count("return") <= 1
        assert "return" not in function or function.rstrip().split("\n")[-1].startswith("  return")
    assert not re.search(r"\b(?:restrict|goto|malloc|while|__\w+)\b", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def test_the_matrix_leads_from_operators_to_lines(tmp_path: Path) -> None:
    source = sources(tmp_path, parsed())
    record = json.loads((tmp_path / "net_trace.json").read_text())
    lines = source.read_text().split("\n")
    for row in record["functions"]:
        first, last = row["lines"]
        assert f" {row['function']}(" in lines[first - 1]
        assert lines[last - 1] == "}"
        assert row["test"] == "net_test.c"
        assert all(first < loop["line"] <= last for loop in row["loops"])
    conv = next(o for row in record["functions"] for o in row["operators"] if o["operator"] == "nn.conv2d")
    assert conv["sources"] == ["net.relay:3:17"]
    for file, digest in record["files"].items():
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == digest
    assert re.fullmatch("[0-9a-f]{64}", record["model_sha256"])
    assert "profile=certifiable" in record["options"]


def test_another_model_has_another_digest(tmp_path: Path) -> None:
    digests = set()
    for n, bound in enumerate((90, 91)):
        folder = tmp_path / str(n)
        sources(folder, parsed(NET.replace("a_max=90f", f"a_max={bound}f")))
        digests.add(json.loads((folder / "net_trace.json").read_text())["model_sha256"])
    assert len(digests) == 2


@needs_cc
def test_a_misplaced_workspace_is_an_error(tmp_path: Path) -> None:
    sources(tmp_path, parsed("def @main(%x: Tensor[(4), float32]) { nn.softmax(nn.softmax(%x)) }\n"))
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdio.h>\nstatic double room[NET_ARENA_SIZE / 8 + 2];\nint main(void) {\n  static float x[4], y[4];\n'
        "  unsigned char *place = (unsigned char *)room;\n"
        '  printf("%d %d %d %d\\n", net_run_with(place, NET_ARENA_SIZE, x, y), net_run_with(place + 4, NET_ARENA_SIZE, x, y),\n'
        "         net_run_with(place, NET_ARENA_SIZE - 1, x, y), net_run_with(NULL, NET_ARENA_SIZE, x, y));\n  return 0;\n}\n"
    )
    files = ["net.c", *(f.name for f in tmp_path.glob("net_weights.c")), "main.c"]
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", *files, "-o", "t", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    answer = subprocess.run(["./t"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout == "0 1 1 1\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "def @main(%x: int32) -> int32 { if (less(%x, 0)) { 0 } else { @main(subtract(%x, 1)) } }\n",
            {},
            "has a loop of the network, which nothing bounds",
        ),
        (
            "def @main(%x: int32) -> int32 { if (less(%x, 0)) { 0 } else { add(1, @main(subtract(%x, 1))) } }\n",
            {},
            "@main works on data, references or recursion",
        ),
        (
            "def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }\n",
            {"shapes": {"x": ("n<=8", 4)}},
            "the run decides a length",
        ),
        (
            "def @main(%x: Tensor[(4), float32], %s: Tensor[(4), float32]) { (%x, add(%x, %s)) }\n",
            {"states": {"s": "out1"}},
            "keeps states",
        ),
        ("def @main(%x: float32) { let %r = ref(%x); ref_read(%r) }\n", {}, None),
        ("def @main(%x: float32) { exp(%x) }\n", {"name": "a" * 23}, "C compares the first 31 of external names"),
    ],
)
def test_programs_that_cannot_keep_the_rules_are_refused(
    text: str, options: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    build = dict(profile="certifiable", emit="c", out_dir=tmp_path / "out", **options)
    if message is None:
        irtool.build(parsed(text), **build)
        return
    with pytest.raises(IrError) as error:
        irtool.build(parsed(text), **build)
    assert message in str(error.value)
    assert error.value.exit_code == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options",
    [{"openmp": True}, {"api": "tvm"}, {"weights": "file"}, {"emit": "mlf"}, {"flags": {"workspace_pools": "sram"}}],
)
def test_options_without_a_place_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="profile=certifiable has no place for"):
        irtool.build(parsed(), profile="certifiable", **{"emit": "c", **options})
