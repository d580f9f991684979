"""The LLVM backend: the same results as C, text that reads well, and a machine without a C compiler."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends.llvm import Llvm, tools
from irtool.diagnostics import IrError, ToolError, UsageError
from irtool.ir import Module, TensorType
from irtool.ir.values import value_leaves

pytestmark = [
    pytest.mark.promise("LLVM"),
    pytest.mark.skipif(not tools.has_llvmlite(), reason="llvmlite is not installed"),
]

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "run.jsonl.gz"
V = '#[version = "0.0.5"]\n'


@pytest.fixture
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What compiles LLVM IR; `clang` is the one that irtool finds, and llvmlite is not asked."""
    if request.param == "clang":
        monkeypatch.delenv("CC", raising=False)
        assert tools.Clang.find("", "native", "", True, ""), f"there is no clang {tools.OLDEST} or later"
        monkeypatch.setattr("irtool.backends.llvm.backend.has_llvmlite", lambda: False)
    else:
        monkeypatch.setattr(tools.Clang, "find", lambda *_: None)
    return str(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "compiler" in metafunc.fixturenames:
        peers = ["clang"] if metafunc.config.getoption("--peers") else []
        metafunc.parametrize("compiler", ["llvmlite", *peers], indirect=True)


def arrays(module: Module, seed: int = 0) -> list[Any]:
    """Random values for the parameters of @main."""
    random = np.random.default_rng(seed)
    values = []
    for p in module["main"].params:  # type: ignore[union-attr]
        t = p.checked_type
        assert isinstance(t, TensorType) and t.is_static
        shape = [int(d) for d in t.shape]
        if t.dtype == "bfloat16":
            ml_dtypes = pytest.importorskip("ml_dtypes")
            values.append(random.standard_normal(shape).astype(ml_dtypes.bfloat16))
        elif t.dtype.startswith("float"):
            values.append(random.standard_normal(shape).astype(t.dtype))
        else:
            values.append(random.integers(0, 2 if t.dtype == "bool" else 100, shape).astype(t.dtype))
    return values


def both(module: Module, flags: str, seed: int = 0, **options: Any) -> tuple[list[Any], list[Any]]:
    """The outputs of C and of LLVM."""
    inputs = arrays(module, seed)
    c = irtool.build(module, target=f"c{{{flags}}}", **options).run(inputs)
    llvm = irtool.build(module, target=f"llvm{{{flags}}}", **options).run(inputs)
    return [np.asarray(x) for x in value_leaves(c)], [np.asarray(x) for x in value_leaves(llvm)]


def assert_same(c: list[Any], llvm: list[Any]) -> None:
    """Bit for bit, but for the bits of NaN."""
    assert len(c) == len(llvm)
    for x, y in zip(c, llvm):
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.dtype.kind == "f":
            nan = np.isnan(x)
            assert (nan == np.isnan(y)).all()
            x, y = np.where(nan, 0, x), np.where(nan, 0, y)
        assert x.tobytes() == y.tobytes()


WITH_DATA = {"treelstm"}
"""Samples whose inputs are values of data types; tests/backends/test_values.py builds such entries."""

SAMPLES = [s for s in sorted((ROOT / "samples").glob("*.relay")) if s.stem not in WITH_DATA]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples(path: Path, compiler: str, quick_compiles: None) -> None:
    """The same to the bit; with fast functions, products and sums may be rounded once or twice, as the compiler chooses."""
    module = irtool.infer_types(irtool.parse(path.read_text(encoding="utf-8")))
    c, llvm = both(module, "math=strict")
    assert_same(c, llvm)
    inputs = arrays(module)
    scalar = irtool.build(module, target="llvm{math=strict,vector=none}").run(inputs)
    fast = irtool.build(module, target="llvm").run(inputs)
    for x, y, z in zip(c, value_leaves(scalar), value_leaves(fast)):
        np.testing.assert_allclose(y, x, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(z, x, rtol=1e-5, atol=1e-5)


UNARY = [
    "exp",
    "log",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "tanh",
    "sigmoid",
    "erf",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "floor",
    "ceil",
    "trunc",
    "round",
    "sign",
    "abs",
    "negative",
    "isnan",
    "isinf",
    "isfinite",
]


@pytest.mark.parametrize(
    ("math", "dtype"), [("fast", "float32"), ("strict", "float32"), ("strict", "float64"), ("fast", "float16")]
)
def test_functions(math: str, dtype: str, compiler: str, quick_compiles: None) -> None:
    """Every function of numbers of all sizes, NaN and infinities among them, vectors and a tail."""
    calls = "".join(f"  %{n} = {name}(%x);\n" for n, name in enumerate(UNARY))
    result = ", ".join(f"%{n}" for n in range(len(UNARY)))
    module = irtool.infer_types(irtool.parse(f"{V}def @main(%x: Tensor[(83,), {dtype}]) {{\n{calls}  ({result})\n}}\n"))
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-6, 300.0, -300.0]
    x = np.concatenate([special, np.linspace(-12, 12, 70)]).astype(dtype)
    with np.errstate(all="ignore"):
        c = irtool.build(module, target=f"c{{math={math}}}").run([x])
        llvm = irtool.build(module, target=f"llvm{{math={math}}}").run([x])
    for name, a, b in zip(UNARY, c, llvm):
        if math == "strict":
            assert_same([np.asarray(a)], [np.asarray(b)])
        else:
            tolerance = {"float16": 2e-3, "float32": 1e-6}[dtype]
            np.testing.assert_allclose(
                np.asarray(b).astype("float64"),
                np.asarray(a).astype("float64"),
                rtol=tolerance,
                atol=1e-7,
                err_msg=name,
            )


INTEGERS = [
    "add",
    "subtract",
    "multiply",
    "floor_divide",
    "floor_mod",
    "divide",
    "mod",
    "minimum",
    "maximum",
    "less",
    "equal",
    "bitwise_and",
    "bitwise_xor",
    "left_shift",
    "right_shift",
]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_integers(dtype: str, compiler: str, quick_compiles: None) -> None:
    """They wrap, and divisions round as they should, at the ends of the range as well."""
    calls = "".join(f"  %{n} = {name}(%x, %y);\n" for n, name in enumerate(INTEGERS))
    result = ", ".join(f"%{n}" for n in range(len(INTEGERS)))
    head = f"{V}def @main(%x: Tensor[(41,), {dtype}], %y: Tensor[(41,), {dtype}])"
    module = irtool.infer_types(irtool.parse(f"{head} {{\n{calls}  ({result})\n}}\n"))
    about, random = np.iinfo(dtype), np.random.default_rng(1)
    x, y = (random.integers(about.min, about.max, 41, dtype=dtype, endpoint=True) for _ in range(2))
    x[:4], y[:4] = (about.min, about.max, about.min, 7), (about.max, about.min, 1, 0)
    y[4:20] = random.integers(1, 9, 16)
    c = irtool.build(module, target="c").run([x, y])
    llvm = irtool.build(module, target="llvm").run([x, y])
    for name, a, b in zip(INTEGERS, c, llvm):
        assert np.array_equal(a, b), name


@pytest.mark.parametrize("pair", [("float32", "int8"), ("float32", "uint8"), ("float64", "int64"), ("int8", "float16"),
                                  ("uint8", "float32"), ("int64", "float32"), ("bool", "float32"), ("float32", "bfloat16"),
                                  ("float16", "float32"), ("int32", "uint8"), ("uint16", "int64")], ids="-".join)  # fmt: skip
def test_casts(pair: tuple[str, str], compiler: str, quick_compiles: None) -> None:
    source, target = pair
    module = irtool.infer_types(
        irtool.parse(f'{V}def @main(%x: Tensor[(37,), {source}]) {{ cast(%x, dtype="{target}") }}\n')
    )
    for x, y in zip(*both(module, "math=strict")):
        assert x.tobytes() == y.tobytes()


NETWORK = (
    V
    + """def @main(%x: Tensor[(1, 3, 17, 17), float32], %w: Tensor[(8, 3, 3, 3), float32], %d: Tensor[(5, 8), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
  %3 = nn.global_avg_pool2d(%2);
  %4 = nn.batch_flatten(%3);
  %5 = nn.dense(%4, %d, units=5);
  nn.softmax(%5)
}
"""
)


@pytest.mark.parametrize("weights", ["inline", "file"])
def test_weights(weights: str, tmp_path: Path, compiler: str, quick_compiles: None) -> None:
    module = irtool.infer_types(irtool.parse(NETWORK))
    x, w, d = arrays(module)
    options: dict = {"params": {"w": w, "d": d}, "weights": weights}
    built = irtool.build(module, target="llvm{math=strict}", out_dir=tmp_path / "out", **options)
    want = irtool.build(module, target="c{math=strict}", **options).run([x])
    assert_same([want], [built.run([x])])
    assert ((tmp_path / "out" / "model.bin").exists()) == (weights == "file")
    loaded = irtool.load(tmp_path / "out")
    assert_same([want], [loaded.run([x])])
    if weights == "file":
        data = bytearray((tmp_path / "out" / "model.bin").read_bytes())
        data[100] ^= 1
        (tmp_path / "damaged.bin").write_bytes(bytes(data))
        library = next(p for p in (tmp_path / "out").iterdir() if p.suffix in (".so", ".o"))
        with pytest.raises(ToolError, match="not the weights of this library, or damaged"):
            Llvm.load(library, "model", tmp_path / "damaged.bin")


def test_constants_of_every_kind_and_an_empty_one(compiler: str) -> None:
    constants = {
        "f": np.array([np.nan, -0.0, 1e-40, np.inf], "float32"),
        "h": np.arange(4, dtype="float16"),
        "b": np.array([True, False, False, True]),
        "i": np.array([-(1 << 63), -1, 0, 5], "int64"),
        "e": np.zeros((0,), "float32"),
    }
    types = {"f": "float32", "h": "float16", "b": "bool", "i": "int64"}
    params = ", ".join([*(f"%{n}: Tensor[(4,), {t}]" for n, t in types.items()), "%e: Tensor[(0,), float32]"])
    body = "(concatenate((%x, %f, %e)), add(%h, %h), logical_not(%b), add(%i, %i))"
    module = irtool.infer_types(irtool.parse(f"{V}def @main(%x: Tensor[(2,), float32], {params}) {{ {body} }}"))
    x = np.ones(2, "float32")
    options: dict = {"params": constants, "opt_level": 0, "weights": "inline", "disabled_pass": ["FoldConstant"]}
    c = irtool.build(module, target="c", cflags="-O1", **options).run([x])
    llvm = irtool.build(module, target="llvm", **options).run([x])
    assert_same([np.asarray(a) for a in c], [np.asarray(a) for a in llvm])


def test_a_machine_without_compiler_and_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on the PATH: llvmlite compiles, and loads the object file."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    module = irtool.infer_types(irtool.parse(NETWORK))
    built = irtool.build(module, target="llvm", out_dir=tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "model.h",
        "model.irtool.json",
        "model.ll",
        "model.o",
    ]
    inputs = arrays(module)
    want = irtool.evaluate(module, inputs)
    np.testing.assert_allclose(built.run(inputs), want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(irtool.load(tmp_path / "out").run(inputs), want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("mcpu=nonsense", "mcpu='nonsense': 'nonsense' is not a recognized processor"),
        ("mtriple=nonsense", "mtriple='nonsense': No available targets are compatible"),
        ("mtriple=aarch64-linux-gnu,mcpu=skylake", "'skylake' is not a recognized processor"),
    ],
)
def test_what_llvm_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, message: str) -> None:
    """Nothing is written for it; LLVM itself would go on without a processor, and end irtool where it cannot."""
    monkeypatch.setattr(tools.Clang, "find", lambda *a: None)
    module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { exp(%x) }'))
    with pytest.raises(UsageError, match=f"LLVM has no code for .*{message}"):
        irtool.build(module, target=f"llvm{{{flags}}}", emit="ll", out_dir=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_neither_clang_nor_llvmlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("irtool.backends.llvm.backend.has_llvmlite", lambda: False)
    module = irtool.parse(NETWORK)
    with pytest.raises(ToolError, match="compiled by clang 15 or later, or by the Python package llvmlite") as caught:
        irtool.build(module, target="llvm")
    assert caught.value.exit_code == 4 and "pip install 'llvmlite" in caught.value.diagnostics[0].help
    text = irtool.build(module, target="llvm", emit="ll", out_dir=tmp_path / "out")
    assert [Path(f).name for f in text.files] == ["model.h", "model.ll"]


def test_the_text_names_kernels_and_is_the_same_each_time(tmp_path: Path) -> None:
    module = irtool.parse(NETWORK, filename="net.relay")
    texts = []
    for n in range(2):
        irtool.build(module, target="llvm{mcpu=x86-64-v3}", emit="ll", out_dir=tmp_path / str(n))
        texts.append((tmp_path / str(n) / "model.ll").read_text())
    assert texts[0] == texts[1]
    assert re.search(r"^; nn\.conv2d, nn\.relu.*: \w+_tile$", texts[0], re.MULTILINE)
    assert "net.relay:3:8" in texts[0]
    assert '"target-cpu"="x86-64-v3"' in texts[0] and "<8 x float>" in texts[0]
    assert "ptr" in texts[0] and "float*" not in texts[0]
    assert str(tmp_path) not in texts[0]


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("llvm", {"openmp": True}, "the backend llvm has no flag openmp"),
        ("llvm{sanitize=address}", {}, "the backend llvm has no flag sanitize"),
        (
            "llvm",
            {"emit": "exe"},
            "emit='exe' is not one of tir, isel, ll, asm, obj, so, the outputs of the backend llvm",
        ),
        ("llvm", {"emit": "c"}, "emit='c' is not one of tir, isel, ll, asm, obj, so"),
        ("llvm -mtriple=armv7-linux-gnueabihf", {}, "supports 64-bit processors only"),
        ("llvm{mattr=neon}", {}, "is not a list like"),
        ("llvm", {"weights": "split"}, "weights='split' is not one of auto, inline, file"),
    ],
)
def test_what_it_does_not_do_is_refused(target: str, options: dict, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        irtool.build(irtool.parse(NETWORK), target=target, **options)
    assert message in str(caught.value)


def test_another_processor(tmp_path: Path, compiler: str) -> None:
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"
    irtool.build(irtool.parse(NETWORK), target=target, emit="obj", out_dir=tmp_path)
    assert (tmp_path / "model.o").read_bytes()[18:20] == b"\xb7\x00"  # AArch64, in the header of ELF
    assert 'target triple = "aarch64-linux-gnu"' in (tmp_path / "model.ll").read_text()


WRAPPER = """#!/bin/sh
# A clang that is too old to read opaque pointers by itself, made to pass for a newer one.
case " $* " in
*" -dM "*) {clang} "$@" | sed 's/__clang_major__ .*/__clang_major__ 17/' ;;
*" -shared "*) {clang} "$@" ;;
*) {clang} "$@" -O0 -mllvm -opaque-pointers ;;
esac
"""


@pytest.mark.skipif(shutil.which("clang") is None, reason="there is no clang")
def test_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clang compiles and links; llvmlite is not asked."""
    monkeypatch.setattr("irtool.backends.llvm.backend.has_llvmlite", lambda: False)
    clang_backend = tools.Clang.find("", "native", "", True, "")
    clang = str(tmp_path / "clang") if clang_backend is None else clang_backend.compiler.command[0]
    if clang_backend is None:
        Path(clang).write_text(WRAPPER.format(clang=shutil.which("clang")))
        Path(clang).chmod(0o755)
    module = irtool.infer_types(irtool.parse(NETWORK))
    built = irtool.build(module, target="llvm{math=strict}", cc=clang, out_dir=tmp_path / "out")
    assert (tmp_path / "out" / "model.so").exists() and f"{Path(clang).name} -O3 -fPIC" in built.report["compile"]
    inputs = arrays(module)
    want = irtool.build(module, target="c{math=strict}", cflags="-O1").run(inputs)
    assert_same([want], [built.run(inputs)])


def test_a_clang_that_is_too_old_is_not_asked(tmp_path: Path) -> None:
    old = tmp_path / "clang"
    old.write_text('#!/bin/sh\necho "#define __clang_major__ 14"\n')
    old.chmod(0o755)
    with pytest.raises(UsageError, match="is clang 14: LLVM IR is compiled by clang 15 or later"):
        irtool.build(irtool.parse(NETWORK), target="llvm", cc=str(old))
    with pytest.raises(UsageError, match="is not clang"):
        irtool.build(irtool.parse(NETWORK), target="llvm", cc="true")


def test_clang_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`clang` is taken if it is new enough, else the newest of those with a version in their name."""

    def chosen(**versions: int) -> str:
        folder = tmp_path / "-".join(versions)
        folder.mkdir()
        for name, version in versions.items():
            program = folder / name.replace("_", "-")
            program.write_text(f'#!/bin/sh\necho "#define __clang_major__ {version}"\n')
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.delenv("CC", raising=False)
        clang = tools.Clang.find("", "native", "", True, "")
        return clang.compiler.command[0] if clang is not None else ""

    assert chosen(clang=14, clang_14=14, clang_9=9, clang_16=16, clang_tidy_19=19, clang_18=18) == "clang-18"
    assert chosen(clang=15, clang_18=18) == "clang"
    assert chosen(clang=14, clang_14=14) == ""


def cases(count: int) -> list[str]:
    if not CORPUS.exists():
        return []
    with gzip.open(CORPUS, "rt") as lines:
        sources = [json.loads(line)["source"] for line in lines]
    return sources[:: max(1, len(sources) // count)][:count]


@pytest.mark.skipif(not CORPUS.exists(), reason="there is no corpus beside this checkout")
@pytest.mark.parametrize("part", range(8))
def test_corpus(part: int, compiler: str, quick_compiles: None) -> None:
    """Every eighth of 200 programs: what C builds LLVM builds, and both give the same."""
    compared = 0
    for n, source in enumerate(cases(200)[part::8]):
        try:
            module = irtool.infer_types(irtool.parse(source))
            inputs = arrays(module, n)
            expected = irtool.build(module, target="c{math=strict}").run(inputs)
        except (IrError, AssertionError):
            continue  # it takes tuples, or nothing that is random
        actual = irtool.build(module, target="llvm{math=strict}").run(inputs)
        assert_same([np.asarray(x) for x in value_leaves(expected)], [np.asarray(x) for x in value_leaves(actual)])
        compared += 1
    assert compared >= 15


@pytest.mark.parametrize("stack", [1 << 16, 1 << 12, 1 << 8])
def test_weights_are_read_in_as_many_lanes_as_the_stack_has_room_for(stack: int, tmp_path: Path) -> None:
    """Loading compares the digest with numpy's; a change of any row is noticed."""
    text = "def @main(%x: Tensor[(3, 90), float32], %w: Tensor[(60, 90), float32]) { nn.dense(%x, %w, units=60) }"
    x, w = (np.random.default_rng(n).standard_normal((n, 90)).astype("float32") for n in (3, 60))
    artifact = irtool.build(
        irtool.parse(V + text), {"w": w}, f"llvm{{weights=file,stack_bytes={stack}}}", out_dir=tmp_path
    )
    np.testing.assert_allclose(artifact.run([x]), x @ w.T, rtol=1e-4, atol=1e-4)
    whole = (tmp_path / "model.bin").read_bytes()
    library = next(p for p in tmp_path.iterdir() if p.suffix in (".so", ".o"))
    for place in (64, 5000, len(whole) - 1):
        (tmp_path / "damaged.bin").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ToolError, match="not the weights of this library, or damaged"):
            Llvm.load(library, "model", tmp_path / "damaged.bin")
