"""Names that are not known: which known ones are offered."""

from __future__ import annotations

import pytest

from irtool.did_you_mean import ask, most_alike, nearest
from irtool.ops import operators
from irtool.passes import passes
from tests.command_line import irtool

pytestmark = pytest.mark.promise("mistakes of newcomers")


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("fuse", ["FuseOps", "DefuseOps"]),
        ("fuse-ops", ["FuseOps"]),
        ("FUSE_OPS", ["FuseOps"]),
        ("FuseOp", ["FuseOps"]),
        ("simplify", ["Simplify"]),
        ("mixed", ["ToMixedPrecision"]),
        ("Foldconstnat", ["FoldConstant"]),
        ("f…", []),
        ("", []),
        ("qqqqqq", []),
    ],
)
def test_passes(name: str, offered: list[str]) -> None:
    assert most_alike(name, passes.names()) == offered


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("nn.conv2D", ["nn.conv2d"]),
        ("conv2d", ["nn.conv2d", "qnn.conv2d", "contrib.ethosu.conv2d"]),
        ("batch-norm", ["nn.batch_norm"]),
        ("nn_dense", ["nn.dense"]),
        ("nn.reluu", ["nn.relu"]),
        ("nn.rleu", ["nn.relu"]),
        ("frobnicate", []),
        ("foo.bar", []),
        ("nn.linear", []),
        ("nn.convolution", []),
        ("shadders", []),
        ("softmx", ["nn.softmax", "qnn.softmax"]),
        ("import", []),
        ("accelerator_call", []),
        ("x", []),
    ],
)
def test_operators(name: str, offered: list[str]) -> None:
    assert most_alike(name, operators.names()) == offered


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("Frobnicate", []),
        ("FlashAttention", ["Attention"]),
        ("Foo", []),
        ("Convolution", ["Conv"]),
        ("Matmul", ["MatMul"]),
        ("Cnov", ["Conv"]),
        ("LayerNrom", []),
        ("LayerNormalisation", ["LayerNormalization"]),
    ],
)
def test_operators_of_onnx(name: str, offered: list[str]) -> None:
    from irtool.frontends.onnx.operator import onnx_operators

    assert most_alike(name, onnx_operators.names()) == offered


def test_how_they_are_offered() -> None:
    assert ask([]) == "" and ask(["a"]) == "did you mean a?"
    assert ask(["a", "b"]) == "did you mean a or b?" and ask(["a", "b", "c"]) == "did you mean a, b or c?"
    assert nearest("mian", ["main", "other"]) == "did you mean main?"


def test_many_names_are_looked_at_in_bounded_time() -> None:
    assert most_alike("f7", (f"f{n}" for n in range(10**6)))[0] == "f7"


TEXT = '#[version = "0.0.5"]\ndef @main(%data: Tensor[(2), float32], %weight: Tensor[(2), float32]) { add(%data, %weight) }\n'


@pytest.mark.parametrize(
    ("words", "text", "suggestion"),
    [
        (["passes", "fuseopss"], None, "did you mean FuseOps?"),
        (["ops", "NN.Conv2e"], None, "did you mean nn.conv2d, "),
        (["opt", "--passes=InferType,fuse-ops"], TEXT, "did you mean FuseOps?"),
        (["opt", "--passes=FuseOps", "--func=^mian$"], TEXT, "did you mean main?"),
        (["opt", "--target=llmv"], TEXT, "did you mean llvm?"),
        (["check"], TEXT.replace("add(%data", "add(%dta"), "did you mean %data?"),
        (["check"], TEXT.replace("add(%data, %weight)", "let %total = exp(%data); %totl"), "did you mean %total?"),
        (["build", "--target=cc"], TEXT, "did you mean c?"),
    ],
)
def test_commands_offer_them(words: list[str], text: str | None, suggestion: str, tmp_path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(text or "")
    code, _, err = irtool(*words, *([path] if text else []))
    assert code in (1, 2) and suggestion in err, err
