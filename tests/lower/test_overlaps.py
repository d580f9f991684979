"""Outputs of kernels that overlap inputs, on processors with little memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.options import choose_options
from irtool.driver.prepare import prepare_entries
from irtool.driver.stages import run_up_to
from irtool.lower.overlaps import find_overlaps, top_level
from irtool.lower.placing import Interval, Overlay, place
from irtool.passes.core.bind import bind_params
from irtool.tir.dtypes import itemsize
from irtool.tir.expr import Binary, Cast, Const, Expr, Load, Select, Var, children
from irtool.tir.kernel import Kernel
from irtool.tir.stmt import Allocate, Buffer, For, Seq, Stmt, Store

LITTLE = "{stack_bytes=512,vector=none}"


class Layers:
    """Relay text of convolutions in 8 bits."""

    def __init__(self, channels: int, size: int) -> None:
        self.params = [f"%x: Tensor[(1, {channels}, {size}, {size}), int8]"]
        self.lines: list[str] = []

    def call(self, expression: str) -> str:
        """The name of a result."""
        self.lines.append(f"  %{len(self.lines)} = {expression};")
        return f"%{len(self.lines) - 1}"

    def conv(self, x: str, cin: int, cout: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        """A convolution whose sums are scaled to 8 bits."""
        w = f"%w{len(self.params)}"
        self.params.append(f"{w}: Tensor[({cout}, {cin // groups}, {kernel}, {kernel}), int8]")
        sums = self.call(
            f"nn.conv2d({x}, {w}, channels={cout}, kernel_size=[{kernel}, {kernel}], strides=[{stride}, {stride}], "
            f'padding=[{kernel // 2}, {kernel // 2}], groups={groups}, out_dtype="int32")'
        )
        return self.call(f'cast(clip(right_shift({sums}, 5), a_min=-128f, a_max=127f), dtype="int8")')

    def text(self, result: str) -> str:
        """The module."""
        head = f'#[version = "0.0.5"]\ndef @main({", ".join(self.params)}) {{\n'
        return head + "\n".join(self.lines) + f"\n  {result}\n}}\n"


def mobile(channels: int = 8, size: int = 16) -> str:
    """Depthwise convolutions and those of 1 x 1, with and without strides."""
    net = Layers(channels, size)
    x = net.conv("%x", channels, channels, 1)
    for cin, cout, stride in ((1, 2, 1), (2, 2, 2), (2, 4, 1), (4, 4, 1)):
        x = net.conv(x, cin * channels, cin * channels, 3, stride, cin * channels)
        x = net.conv(x, cin * channels, cout * channels, 1)
    return net.text(f"nn.max_pool2d({x}, pool_size=[2, 2], strides=[2, 2])")


def depthwise(channels: int = 8, size: int = 16) -> str:
    """Depthwise convolutions and pools."""
    net = Layers(channels, size)
    x = net.conv("%x", channels, channels, 3, 1, channels)
    x = net.call(f"nn.max_pool2d({x}, pool_size=[3, 3], padding=[1, 1])")
    x = net.conv(x, channels, channels, 5, 2, channels)
    return net.text(net.conv(x, channels, channels, 3, 1, channels))


def residual(channels: int = 8, size: int = 16) -> str:
    """Convolutions of 3 x 3, and sums with earlier values."""
    net = Layers(channels, size)
    x = net.conv("%x", channels, channels, 3)
    for _ in range(2):
        y = net.conv(net.conv(x, channels, channels, 3), channels, channels, 3)
        x = net.call(f"minimum({x}, {y})")
    return net.text(x)


def weights_of(text: str, seed: int = 0) -> dict[str, Any]:
    g = np.random.default_rng(seed)
    params = irtool.parse(text)["main"].params
    shapes = {p.name: tuple(int(d) for d in p.checked_type.shape) for p in params}
    return {n: g.integers(-20, 20, s, dtype="int8") for n, s in shapes.items()}


@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize(("network", "share"), [(mobile, 1), (depthwise, 0.7), (residual, 0.9)])
def test_results_are_the_same_in_less_memory(target: str, network: Any, share: float) -> None:
    text = network()
    arrays = weights_of(text)
    x = arrays.pop("x")
    module = irtool.parse(text)
    usual = irtool.build(module, arrays, target=f"{target}{{vector=none}}")
    little = irtool.build(module, arrays, target=f"{target}{LITTLE}")
    expected = irtool.evaluate(module, {"x": x, **arrays})
    np.testing.assert_array_equal(usual.run([x]), expected)
    np.testing.assert_array_equal(little.run([x]), expected)
    assert little.arena_bytes <= share * usual.arena_bytes


def kernels_of(text: str, target: str) -> list[Kernel]:
    options = choose_options(target, ())
    arrays = weights_of(text)
    del arrays["x"]
    prepared = prepare_entries(irtool.infer_types(bind_params(irtool.parse(text), arrays)), options)
    machine = options.backend.machine().resized(dict(options.sizes))
    return run_up_to(prepared, ["main"], machine, "PlanMemory").kernels


def value_of(e: Expr, env: dict[Expr, int]) -> int:
    """The value of an index or a condition."""
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return env[e]
    if isinstance(e, Cast):
        return value_of(e.value, env)
    assert isinstance(e, Binary), e
    a, b = value_of(e.a, env), value_of(e.b, env)
    functions = {
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "<": a < b,
        "<=": a <= b,
        "and": a and b,
        "//": a // b if b else 0,
        "%": a % b if b else 0,
    }
    return int(functions[e.op])


def reads_in(e: Expr, env: dict[Expr, int]) -> Iterator[Load]:
    """The loads that an expression runs."""
    if isinstance(e, Select) and e.lazy:
        yield from reads_in(e.then if value_of(e.cond, env) else e.other, env)
        return
    if isinstance(e, Load) and isinstance(e.source, Buffer):
        yield e
    for x in children(e):
        yield from reads_in(x, env)


def accesses(s: Stmt, env: dict[Expr, int]) -> Iterator[tuple[Buffer, int, bool]]:
    """The reads and writes of a statement in order: buffer, first byte, True for a write."""
    if isinstance(s, Seq):
        for x in s.stmts:
            yield from accesses(x, env)
    elif isinstance(s, Allocate):
        yield from accesses(s.body, env)
    elif isinstance(s, For):
        for n in range(s.steps):
            yield from accesses(s.body, {**env, s.var: n})
    else:
        assert isinstance(s, Store), s
        for e in reads_in(s.value, env):
            yield e.source, value_of(e.source.offset(e.indices), env) * itemsize(e.source.dtype), False
        yield s.buffer, value_of(s.buffer.offset(s.indices), env) * itemsize(s.buffer.dtype), True


def is_right(trace: list[tuple[Buffer, int, bool]], a: Buffer, b: Buffer, distance: int) -> bool:
    """True if no byte of `a` is read after it was written as one of `b`, which begins so many bytes below."""
    written: set[int] = set()
    for buffer, first, writes in trace:
        places = range(first, first + itemsize(buffer.dtype))
        if buffer is b and writes:
            written.update(p - distance for p in places)
        elif buffer is a and not writes and not written.isdisjoint(places):
            return False
    return True


def check(text: str, target: str) -> set[tuple[bool, bool]]:
    """Runs the accesses of all kernels; the kinds of overlaps among them: at the same offset, and less than the input below it."""
    kinds = set()
    for kernel in kernels_of(text, target):
        overlaps = find_overlaps(kernel)
        trace = [x for s in top_level(kernel.body) for x in accesses(s, {})] if overlaps else []
        for x in overlaps:
            a, b = kernel.inputs[x.input], kernel.outputs[x.output]
            kinds.add((x.same, x.below < a.nbytes))
            if x.below < float("inf"):
                below = int(x.below)
                assert all(is_right(trace, a, b, below + n) for n in (0, 1, 64)), (kernel.name, x)
            assert not x.same or is_right(trace, a, b, 0), (kernel.name, x)
    return kinds


@pytest.mark.parametrize("network", [depthwise, mobile, residual])
def test_steps_read_no_byte_that_an_earlier_one_wrote(network: Any) -> None:
    assert (False, True) in check(network(4, 8), f"c{LITTLE}")


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs gcc-arm-none-eabi")
def test_pixels_are_computed_where_they_are() -> None:
    assert (True, False) in check(mobile(8, 8), 'c{board="mps2-an386",stack_bytes=64}')


def test_offsets_keep_to_the_distances() -> None:
    # A chain of values of growing size, each of which may begin where the one before it does, and one that may begin a line below.
    sizes = [256, 512, 1024, 128]
    items = [Interval(size, n, n + 1) for n, size in enumerate(sizes)]
    for n, (a, b) in enumerate(pairwise(items)):
        same, below = n < 2, 64 if n == 2 else float("inf")
        a.over[b], b.over[a] = Overlay(below, same, True), Overlay(below, same, False)
    total, _ = place(items)
    assert total == 1024 + 64
    assert items[0].offset == items[1].offset == items[2].offset == items[3].offset + 64
