"""An operator comes in one file: what it states and the rules beside it reach every pass, through `--load`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.promise("operator facts")

FILE = '''
"""A gate for each channel, and a ramp."""

from dataclasses import dataclass, fields, replace

import numpy as np

from irtool import te
from irtool.ops import Operator, Pattern, call, operator
from irtool.ops.relations import identity
from irtool.passes import rules
from irtool.passes.fake_quantization.affine import tensor_type
from irtool.passes.layouts.inference import CHANNEL, Layouts


@operator("my.gate", "data", "scale", pattern=Pattern.BROADCAST)
@dataclass(frozen=True)
class Gate(Operator):
    """`data * scale`, the vector `scale` running along `axis`."""

    precision = "follow"
    cases = "%x: Tensor[(1, 2), int8] = [[3, 4]], %s: Tensor[(2), int8] = [5, -1] | my.gate(%x, %s) == [[15, -4]]"

    axis: int = 1

    def relate(self, types, reporter):
        return types[0]

    def along(self, scale, rank):
        return scale.reshape([-1 if i == self.axis else 1 for i in range(rank)])

    def evaluate(self, data, scale):
        return data * self.along(scale, data.ndim)

    def compute(self, inputs, out_type):
        data, scale = inputs
        return te.compute(data.shape, lambda *i: data[i] * scale[i[self.axis]], tag="broadcast")


@rules.gradient("my.gate")
def gate_gradient(site):
    data, scale = site.args
    axis = site.attrs.axis
    to_scale = call("sum", call("multiply", site.grad, data), axis=[axis], exclude=True)
    return [call("my.gate", site.grad, scale, axis=axis), to_scale]


@rules.layout_rule("my.gate")
def gate_layout(site):
    if site.moved is None:
        return Layouts((site.old[0], CHANNEL), (site.old[0],), site.attrs)
    old, new = site.moved
    axis = new.index(old.axes[site.attrs.axis].letter)
    return Layouts((new, CHANNEL), (new,), site.replaced(axis=axis))


@rules.unpacked("my.gate")
def gate_unpacked(e, data_type):
    axes = len(data_type.shape) - e.attrs.axis - 1
    return call("multiply", e.args[0], call("expand_dims", e.args[1], axis=1, num_newaxis=axes))


@rules.asks_for("my.gate")
def gate_asks(e, message):
    return [message, None]


@rules.passes_on("my.gate")
def gate_passes_on(e, args, message):
    return None


@rules.legalization("FTVMLegalize", "my.gate")
def gate_legal(site):
    return None if site.attrs.axis == 1 else call("multiply", *site.args)


@operator("my.ramp", "data", pattern=Pattern.ELEMWISE)
@dataclass(frozen=True)
class Ramp(Operator):
    """The larger of each element and 0."""

    precision = "never"
    fast_form = "nn.relu"
    integer_form = "same"
    homogeneous = True

    def relate(self, types, reporter):
        return identity(types, reporter)

    def evaluate(self, data):
        return np.maximum(data, data.dtype.type(0))

    def compute(self, inputs, out_type):
        (x,) = inputs
        return te.compute(x.shape, lambda *i: te.max2(x[i], te.const(0, x.dtype)), tag="elemwise")


@rules.gradient("my.ramp")
def ramp_gradient(site):
    (x,) = site.args
    return [call("where", call("greater", x, call("zeros_like", x)), site.grad, call("zeros_like", x))]
'''

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32], %s: Tensor[(4), float32]) {
  my.ramp(my.gate(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]), %s))
}
"""
QUANTIZED = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), int8]) {
  qnn.quantize(my.ramp(qnn.dequantize(%x, 0.5f, 0)), 0.5f, 0, out_dtype="int8")
}
"""
SCALED = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  nn.conv2d(my.ramp(multiply(%x, full(2f, shape=[4, 1, 1], dtype="float32"))), %w, channels=4, kernel_size=[3, 3])
}
"""


def irtool(*words: str) -> tuple[int, str, str]:
    """One command in a process of its own: what a file defines stays in a process. Its exit code, output and messages."""
    done = subprocess.run(
        [sys.executable, "-m", "irtool", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CFLAGS": "-O1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.py").write_text(FILE, encoding="utf-8")
    for name, text in (("net", NET), ("quantized", QUANTIZED), ("scaled", SCALED)):
        (tmp_path / f"{name}.relay").write_text(text, encoding="utf-8")
    return tmp_path


CONVERT = 'ConvertLayout{desired_layouts={"nn.conv2d": ["NHWC", "default"]}}'
SHOWS = {
    ("net", CONVERT): ("my.gate(%2, %s, axis=3)", "layout_transform(%4"),
    ("net", "ToMixedPrecision"): ('cast(%s, dtype="float16")', 'cast(%4, dtype="float32")'),
    ("net", "FirstOrderGradient"): ("axis=[1], exclude=True", "where("),
    ("net", "SimplifyInference"): ("expand_dims(%s, axis=1, num_newaxis=2)",),
    ("net", "FastMath"): ("nn.relu(",),
    ("net", "FuseOps"): ("my.gate(%0, %p2)", "my.ramp("),
    ("quantized", "FakeQuantizationToInteger"): ("my.ramp(%x)",),
    ("scaled", "FoldConstant,ForwardFoldScaleAxis"): ("my.ramp(%x)",),
}


@pytest.mark.parametrize(("name", "passes"), SHOWS, ids=[p.partition("{")[0] for _, p in SHOWS])
def test_passes_follow_what_the_file_says(name: str, passes: str, folder: Path) -> None:
    code, out, err = irtool("opt", "--load", "gate.py", "-p", passes, "--types=none", f"{name}.relay")
    assert (code, err) == (0, "")
    for words in SHOWS[name, passes]:
        assert words in out, out


def test_it_runs_as_it_is_evaluated(folder: Path) -> None:
    code, out, err = irtool("run", "--load", "gate.py", "-p", CONVERT, "--compare", "interp,c", "net.relay")
    assert code == 0, err
    assert "interp and c agree" in out


def test_nothing_is_lacking(folder: Path) -> None:
    code, out, _ = irtool("ops", "--load", "gate.py", "my.gate")
    assert code == 0 and "still lacks" not in out
    assert "cases:\n  %x: Tensor[(1, 2), int8]" in out
    assert "  layout: a rule of its own\n  precision: follow\n" in out
    out = irtool("ops", "--load", "gate.py", "my.ramp")[1]
    assert "  layout: elementwise\n  precision: never\n  quantized: the operator itself\n  fast form: nn.relu" in out


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ('precision = "alwys"', "states the precision 'alwys'; there are always, follow, never"),
        ('narrowed_attribute = "dtype"', "states the narrowed_attribute 'dtype', and has no such attribute"),
        ('integer_form = "save"', "states the integer form 'save'; there is same"),
        ('layout_rule = "elementwize"', "there is no layout rule elementwize"),
        ("homogenious = True", "states homogenious, which is no fact; did you mean homogeneous?"),
    ],
)
def test_a_wrong_fact_is_refused(fact: str, words: str, folder: Path) -> None:
    stated = FILE.replace('    integer_form = "same"\n', "").replace('precision = "never"', fact)
    (folder / "gate.py").write_text(stated, encoding="utf-8")
    code, _, err = irtool("opt", "--load", "gate.py", "-p", CONVERT, "net.relay")
    assert code == 1 and words in err, err
    assert "gate.py" in err


def test_an_offer_that_nobody_keeps_is_refused(folder: Path) -> None:
    offer = '\n\n@rules.offers("my.gate")\ndef gate_offers(e, offers):\n    return offers[0]\n'
    (folder / "gate.py").write_text(FILE + offer, encoding="utf-8")
    (folder / "net.relay").write_text(
        NET.replace("my.ramp(", 'multiply(full(2f, shape=[4, 1, 1], dtype="float32"), '), encoding="utf-8"
    )
    code, _, err = irtool("opt", "--load", "gate.py", "-p", "FoldConstant,BackwardFoldScaleAxis", "net.relay")
    assert code == 1 and "no rule (@takes_up) does it" in err, err
