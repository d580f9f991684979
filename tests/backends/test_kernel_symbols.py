"""Names of kernels in C and LLVM."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.interface.symbols import kernel_symbol
from irtool.lower.naming import kernel_name
from irtool.tir.kernel import Kernel


def symbol(*operators: str, number: str = "") -> str:
    """The name in the program `net` of a kernel that lowering has named."""
    return kernel_symbol(Kernel(kernel_name(operators) + number, [], [], operators=operators), "net")


def test_a_name_of_64_characters_stays_and_a_longer_one_names_the_first_operators() -> None:
    start, stop = "a" * 28, "b" * 29
    assert symbol(start, stop) == f"tvmgen_net_fused_{start}_{stop}", "64 characters after the program"
    assert symbol(start, f"{stop}b") == f"tvmgen_net_fused_{start}_and_1_more"
    many = symbol("nn.conv2d", *["cast", "multiply", "add", "right_shift"] * 4)
    assert many == "tvmgen_net_fused_nn_conv2d_cast_multiply_add_right_shift_cast_and_11_more"


def test_numbers_of_lowering_go_where_the_operators_alone_fit() -> None:
    assert symbol("a" * 56, number="_1") == f"tvmgen_net_fused_{'a' * 56}_1"
    assert symbol("a" * 28, "b" * 29, number="_1") == f"tvmgen_net_fused_{'a' * 28}_{'b' * 29}", "all operators fit"
    assert symbol("c" * 70, "d") == f"tvmgen_net_fused_{'c' * 70}_and_1_more", "one operator is named in any case"


def long_chain(last: str) -> str:
    value = "%x"
    for operator in ("negative", "sigmoid", "negative", "tanh", "negative", "exp", "negative", "sigmoid", "exp"):
        value = f"{operator}({value})"
    return f"{last}({value})"


@pytest.mark.usefixtures("quick_compiles")
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_kernels_that_share_a_short_name_get_numbers(tmp_path: Path, target: str) -> None:
    entries = {"main": (4, "ceil"), "more": (5, "ceil"), "other": (4, "floor")}
    module = irtool.parse(
        '#[version = "0.0.5"]\n'
        + "".join(
            f"def @{name}(%x: Tensor[({count}), float32]) {{ {long_chain(last)} }}\n"
            for name, (count, last) in entries.items()
        )
    )
    artifact = irtool.build(module, target=target, entry=list(entries), name="net", out_dir=tmp_path, math="strict")
    symbols = [k["c_name"] for k in artifact.report["kernels"]]
    short = "tvmgen_net_fused_negative_sigmoid_negative_tanh_negative_exp_and_4_more"
    assert symbols == [short, f"{short}_2", f"{short}_3"]
    for name, (count, _) in entries.items():
        x = np.linspace(-2, 2, count, dtype="float32")
        want = irtool.evaluate(module, {"x": x}, entry=name)
        np.testing.assert_array_equal(artifact.run({"x": x}, entry=name), np.asarray(want))
