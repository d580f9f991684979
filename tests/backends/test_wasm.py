"""WebAssembly: modules in wasmtime and in Node give what the interpreter gives, and refuse what does not fit."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends.c.wasm.sections import WEIGHTS, append_section, read_sections
from irtool.backends.c.wasm.tools import LEVELS, find_compiler
from irtool.diagnostics import IrError, ToolError, UsageError
from irtool.passes.core.bind import bind_params
from tests.command_line import irtool as command

needs_compiler = pytest.mark.skipif(find_compiler("") is None, reason="no compiler for WebAssembly")
needs_wasmtime = pytest.mark.skipif(importlib.util.find_spec("wasmtime") is None, reason="no wasmtime")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no Node")

V = '#[version = "0.0.5"]\n'
FLOATS = f"""{V}
def @main(%x: Tensor[(1, 6, 9, 9), float32], %w: Tensor[(8, 6, 3, 3), float32], %d: Tensor[(40, 8), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
  %1 = tanh(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=40));
  nn.softmax(erf(exp(%1)))
}}
"""
BYTES = f"""{V}def @main(%x: Tensor[(1, 8, 8, 8), int8], %w: Tensor[(16, 8, 3, 3), int8]) {{
  %0 = qnn.conv2d(%x, %w, 3, 0, 0.05f, 0.02f, padding=[1, 1], channels=16, kernel_size=[3, 3], out_dtype="int32");
  %1 = qnn.requantize(%0, 0.001f, 0, 0.5f, -5, out_dtype="int8");
  nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2])
}}
"""
STATE = f"""{V}def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) {{
  %0 = add(%x, %h); (tanh(%0), %0)
}}
"""
OPEN = f"{V}def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) {{ concatenate((%x, exp(%y))) }}"
PLACES = f"{V}def @main(%x: Tensor[(3, 5), float32]) {{ argwhere(greater(%x, 0f)) }}"
TYPES = f"""{V}def @main(%a: Tensor[(2), int64], %b: Tensor[(2), bool], %c: Tensor[(2), uint8], %d: Tensor[(2), float64]) {{
  (add(%a, 1i64), logical_not(%b), add(%c, cast(%b, dtype="uint8")), multiply(%d, 0.5f64))
}}
"""
G = np.random.default_rng(0)
IMAGE = G.standard_normal((1, 6, 9, 9)).astype("float32")
WEIGHTS_OF = {
    FLOATS: {
        "w": G.standard_normal((8, 6, 3, 3)).astype("float32"),
        "d": G.standard_normal((40, 8)).astype("float32"),
    },
    BYTES: {"w": G.integers(-128, 128, (16, 8, 3, 3)).astype("int8")},
}


def build(text: str, **options: Any) -> irtool.Artifact:
    flags = {"fallback": False, **options.pop("flags", {})}
    return irtool.build(irtool.parse(text), WEIGHTS_OF.get(text), name="net", emit="wasm", flags=flags, **options)


def in_node(folder: Path, script: str, *options: str) -> Any:
    """The JSON that a script prints, with `load` and all that the module has in `net`."""
    (folder / "script.mjs").write_text(f'import * as net from "./net.mjs";\nconst {{ load }} = net;\n{script}')
    done = subprocess.run(
        ["node", *options, "script.mjs"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_compiler
@needs_wasmtime
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_gives_the_numbers_of_the_interpreter(level: str) -> None:
    want = irtool.evaluate(irtool.parse(FLOATS), {"x": IMAGE, **WEIGHTS_OF[FLOATS]})
    result = build(FLOATS, mcpu=level).run({"x": IMAGE})
    np.testing.assert_allclose(result, want, rtol=2e-5)
    x = G.integers(-128, 128, (1, 8, 8, 8)).astype("int8")
    want = irtool.evaluate(irtool.parse(BYTES), {"x": x, **WEIGHTS_OF[BYTES]})
    np.testing.assert_array_equal(build(BYTES, mcpu=level).run({"x": x}), want)


@needs_compiler
@needs_wasmtime
def test_lengths_states_and_extents_of_values(tmp_path: Path) -> None:
    open_build = build(OPEN, shapes={"x": ("m<=6", 4), "y": ("n", 4)})
    for m, n in ((1, 3), (6, 2), (2, 9)):
        x, y = (G.standard_normal((k, 4)).astype("float32") for k in (m, n))
        np.testing.assert_allclose(open_build.run([x, y]), np.concatenate([x, np.exp(y)]), rtol=1e-6)
    places = build(PLACES, out_dir=tmp_path)
    x = G.standard_normal((3, 5)).astype("float32")
    np.testing.assert_array_equal(places.run([x]), np.argwhere(x > 0))
    np.testing.assert_array_equal(irtool.load(tmp_path).run([x]), np.argwhere(x > 0))
    steps = build(STATE, states={"h": "out1"})
    one, other = steps.instance(), steps.instance()
    ones = np.ones(3, "float32")
    one.step(x=ones)
    saved = one.save()
    np.testing.assert_allclose(one.step(x=ones), np.tanh(2 * ones), rtol=1e-6)
    other.restore(saved)
    np.testing.assert_allclose(other.step(x=ones), np.tanh(2 * ones), rtol=1e-6)
    with pytest.raises(IrError, match="no saved state"):
        other.restore(saved[:-1] + b"\1")


@needs_compiler
@needs_node
@pytest.mark.parametrize("weights", ["auto", "file", "inline"])
def test_node_runs_each_module(tmp_path: Path, weights: str) -> None:
    artifact = build(FLOATS, weights=weights, out_dir=tmp_path, flags={"fallback": True})
    files = {Path(f).name for f in artifact.files}
    assert {"net.wasm", "net.scalar.wasm", "net.mjs", "net.d.ts"} <= files
    assert ("net.bin" in files) == (weights == "file")
    values = ", ".join(map(str, IMAGE.ravel().tolist()))
    script = f"""
const x = Float32Array.of({values});
const results = [];
for (const level of net.levels) results.push([...(await load({{ level }})).run({{ x }}).out]);
const one = await load(), other = await one.another();
results.push([...one.run([x]).out], [...other.run(x).out], [...one.run({{ x: {{ data: x, shape: [1, 6, 9, 9] }} }}).out]);
const level = await load({{ level: "mvp" }}).catch((e) => e.message);
console.log(JSON.stringify({{ results, level, inputs: net.inputs }}));
"""
    printed = in_node(tmp_path, script)
    want = irtool.evaluate(irtool.parse(FLOATS), {"x": IMAGE, **WEIGHTS_OF[FLOATS]})
    for result in printed["results"]:
        np.testing.assert_allclose(np.array(result).reshape(1, 40), want, rtol=2e-5)
    assert printed["level"] == "net: the level mvp is not one of wasm-simd128, wasm"
    assert printed["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 6, 9, 9]}]


@needs_compiler
@needs_node
def test_an_engine_without_vectors_loads_the_twin(tmp_path: Path) -> None:
    build(FLOATS, out_dir=tmp_path, flags={"fallback": True})
    (tmp_path / "net.wasm").write_bytes(b"the engine must not read this")
    script = """
const validate = WebAssembly.validate;
WebAssembly.validate = () => false;
const { out } = (await load()).run({ x: new Float32Array(486).fill(1) });
WebAssembly.validate = validate;
const other = await load().catch((e) => e.constructor.name);
console.log(JSON.stringify([out.length, other]));
"""
    assert in_node(tmp_path, script) == [40, "CompileError"]


@needs_compiler
@needs_node
def test_node_refuses_arguments_that_do_not_fit(tmp_path: Path) -> None:
    build(FLOATS, out_dir=tmp_path)
    x = "new Float32Array(486)"
    cases = {
        "{ x: new Float64Array(486) }": "the input x is float32[1, 6, 9, 9]: a Float32Array is expected, not a Float64Array of 486",
        "{ x: Array(486).fill(0) }": "the input x is float32[1, 6, 9, 9]: a Float32Array is expected, not a Array of 486",
        "{ x: new Float32Array(5) }": "the input x is float32[1, 6, 9, 9]: a Float32Array of 486 elements is expected, not of 5",
        f"{{ x: {{ data: {x}, shape: [9, 9, 6] }} }}": "the input x is float32[1, 6, 9, 9]: the shape [1, 6, 9, 9] is expected, not [9, 9, 6]",
        f"{{ y: {x} }}": "there is no input y: the inputs are x",
        "{}": "the input x is float32[1, 6, 9, 9]: a Float32Array is expected, not nothing",
        "undefined": "0 inputs are given, and 1 are expected: x",
        f"[{x}, {x}]": "2 inputs are given, and 1 are expected: x",
    }
    script = f"""
const network = await load();
const before = [...network.run({x}).out];
const said = [];
for (const bad of [{", ".join(cases)}])
  try {{ network.run(bad); said.push(""); }} catch (e) {{ said.push(`${{e.name}}: ${{e.message}}`); }}
const after = [...network.run({x}).out];
console.log(JSON.stringify([said, before.every((v, n) => v === after[n])]));
"""
    messages, is_same = in_node(tmp_path, script)
    assert messages == [f"NetworkError: net: {message}" for message in cases.values()] and is_same


@needs_compiler
@needs_node
def test_node_knows_lengths_states_dtypes_and_extents_of_values(tmp_path: Path) -> None:
    folders = {n: tmp_path / n for n in ("open", "places", "state", "types")}
    build(OPEN, shapes={"x": ("m<=6", 4), "y": ("n", 4)}, out_dir=folders["open"])
    printed = in_node(
        folders["open"],
        """
const network = await load(), x = new Float32Array(8).fill(2), said = [];
const { out } = network.run({ x, y: { data: new Float32Array(12), shape: [3, 4] } });
for (const bad of [{ x: new Float32Array(28), y: x }, { x: new Float32Array(7), y: x }, { x: { data: x, shape: [2, 2, 2] }, y: x }])
  try { network.run(bad); said.push(""); } catch (e) { said.push(`${e.code} ${e.message}`); }
console.log(JSON.stringify([[...out.data], out.shape, said]));
""",
    )
    assert printed[:2] == [[2.0] * 8 + [1.0] * 12, [5, 4]]
    lengths, unknown, rank = printed[2]
    assert lengths.startswith("4 net: the lengths m = 7, n = 2 are out of their bounds")
    assert unknown.startswith("0 net: the length m does not follow from the inputs: pass a tensor as {data, shape}")
    assert rank == "0 net: the input x is float32[m, 4], and has the shape [2, 2, 2]"

    build(PLACES, out_dir=folders["places"])
    printed = in_node(
        folders["places"],
        """
const x = new Float32Array(15); x[3] = 1; x[11] = 2;
const { out, out_shape } = (await load()).run(x);
console.log(JSON.stringify([[...out.data], out.shape, typeof out_shape, net.outputs]));
""",
    )
    assert printed[:3] == [[0, 3, 2, 1], [2, 2], "undefined"] and [o["name"] for o in printed[3]] == ["out"]

    build(STATE, states={"h": "out1"}, out_dir=folders["state"])
    printed = in_node(
        folders["state"],
        """
const one = await load(), other = await one.another(), x = new Float32Array(3).fill(1), all = [];
one.run({ x });
const saved = one.save();
all.push(one.run({ x }).out[0]);
other.restore(saved);
all.push(other.run({ x }).out[0]);
one.reset();
all.push(one.run({ x }).out[0]);
saved[saved.length - 1] ^= 1;
const said = [];
for (const bad of [saved, saved.subarray(1), "state"])
  try { one.restore(bad); said.push(""); } catch (e) { said.push(e.message); }
console.log(JSON.stringify([all, said]));
""",
    )
    np.testing.assert_allclose(printed[0], np.tanh([2, 2, 1]), rtol=1e-6)
    assert printed[1][0] == "net: the bytes are no saved state of this network, or damaged"
    assert printed[1][1].startswith("net: saved states are a Uint8Array of ") and printed[1][2].endswith(
        ", not a string"
    )

    build(TYPES, out_dir=folders["types"])
    printed = in_node(
        folders["types"],
        """
const r = (await load()).run([BigInt64Array.of(1n << 40n, -1n), Uint8Array.of(1, 0), Uint8Array.of(255, 7), Float64Array.of(1, 2)]);
console.log(JSON.stringify(Object.values(r).map((a) => [a.constructor.name, ...a].map(String))));
""",
    )
    assert printed == [
        ["BigInt64Array", str((1 << 40) + 1), "0"],
        ["Uint8Array", "0", "1"],
        ["Uint8Array", "0", "7"],
        ["Float64Array", "0.5", "1"],
    ]


@needs_compiler
@needs_node
def test_wrong_weights_are_refused(tmp_path: Path) -> None:
    build(FLOATS, weights="file", out_dir=tmp_path)
    script = """
const size = (await import("node:fs")).statSync("net.bin").size, said = [];
for (const weights of [new Uint8Array(size), new Uint8Array(3), "missing.bin"])
  said.push(await load({ weights }).then(() => "", (e) => e.message));
console.log(JSON.stringify(said));
"""
    of_others, short, missing = in_node(tmp_path, script)
    assert of_others == "net: the weights are not set" and short.startswith("net: the weights have 3 bytes, and ")
    assert "missing.bin" in missing


def test_sections_are_read_as_they_were_appended(tmp_path: Path) -> None:
    module = tmp_path / "m.wasm"
    module.write_bytes(b"\0asm\1\0\0\0")
    contents = {WEIGHTS: bytes(range(256)) * 80, "empty": b"", "é": b"x" * 128}
    for name, content in contents.items():
        append_section(module, name, [content[:7], content[7:]], len(content))
    assert {n: bytes(c) for n, c in read_sections(module.read_bytes()).items()} == contents


def test_a_network_beyond_the_memory_of_a_module_is_refused() -> None:
    text = f"{V}def @main(%x: Tensor[(600000000), float32]) {{ exp(%x) }}"
    with pytest.raises(
        IrError, match="4800000064 bytes, and the memory of a WebAssembly module has at most 4294967296"
    ):
        irtool.build(irtool.parse(text), target="wasm", emit="c")


def test_a_missing_compiler_is_named_with_the_packages_that_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.backends.c.wasm.tools._candidates", lambda: iter(()))
    with pytest.raises(ToolError, match="no compiler for WebAssembly: neither the Python package ziglang") as error:
        irtool.build(irtool.parse(STATE), emit="wasm")
    assert "wasi-libc" in str(error.value.diagnostics[0].help)
    assert irtool.build(irtool.parse(STATE), target="wasm", emit="c").files  # text needs no compiler


def test_values_of_data_types_and_other_processors_are_refused() -> None:
    text = f"{V}type T {{ A(float32), B }}\ndef @main(%t: T) -> float32 {{ match (%t) {{ A(%x) => %x, B => 0f }} }}"
    with pytest.raises(IrError, match="a parameter or result of @main is a value of a data type"):
        irtool.build(irtool.parse(text), target="wasm", emit="c")
    with pytest.raises(UsageError, match="wasm-simd128"):
        irtool.build(irtool.parse(STATE), target="wasm", emit="c", mcpu="native")


@needs_compiler
@needs_wasmtime
def test_the_command_line_compares_every_way(tmp_path: Path) -> None:
    file = tmp_path / "net.relay"
    file.write_text(irtool.to_text(bind_params(irtool.parse(FLOATS), WEIGHTS_OF[FLOATS])))
    code, out, _ = command("run", "--compare", "interp,c,wasm{fallback=false}", "-q", file)
    assert code == 0 and out.splitlines() == ["interp and c agree", "interp and wasm{fallback=false} agree"]
