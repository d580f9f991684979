"""Single kernels on one core, as fractions of what the processor can do: multiply-adds, or copying.

A kernel is bound by multiply-adds or by memory: its share is the larger of the time that its arithmetic takes at the peak
and the time that a copy of as many bytes takes, divided by its own time. Operands are as they are in a network: in the
layouts that were chosen for them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irtool.tir.stmt import PrimFunc

from .native import Compiled
from .networks.builder import Text
from .networks.mobilenet import mobilenet
from .networks.resnet import resnet
from .networks.transformer import bert

_EXPONENTIAL = 20
_ERROR_FUNCTION = 36
_LAYER_NORM = 6
"""Instructions of an exponential, of an error function and, for each element, of a normalisation (a sum; a difference and a
multiply-add; a difference, a product and a multiply-add), each in the place of a multiply-add."""


@dataclass(frozen=True)
class Row:
    """One line of the table. `share`: of the limit; `limit`: which one it is; `calls`: per inference."""

    title: str
    seconds: float
    share: float
    limit: str
    calls: int = 1


def run() -> None:
    """Prints the tables."""
    net = Compiled(resnet(50))
    print(f"kernels: multiply-adds at {net.peak() / 1e9:.1f} GFLOPS on one core, {net.lanes} lanes")
    _report("convolutions of ResNet-50", _rows(net, "conv2d"))
    _report(
        "dense layers of BERT-base, 128 rows",
        _rows(Compiled(bert(depth=1, vocabulary=64), inputs=("input_ids",)), "dense"),
    )
    _report("matrix products", [_alone("1024 x 1024 x 1024", matmul(1024, 1024, 1024))])
    mobile = Compiled(mobilenet())
    _report("depthwise convolutions of MobileNet", [r for r in _rows(mobile, "conv2d") if "groups" in r.title])
    _report("memory", [*_rows(net, "pool2d"), *(_alone(*x) for x in SMALL)])


def matmul(m: int, n: int, k: int) -> str:
    """A dense layer with constant weights: (m, k) times the transpose of (n, k)."""
    t = Text()
    return t.text(t.call("nn.dense", t.param("data", m, k), t.param("weight", n, k), units=n))


def _chain() -> str:
    t = Text()
    x = t.param("data", 1, 64, 112, 112)
    y = t.call("multiply", t.call("add", x, t.param("bias", 64, 1, 1)), t.param("scale", 64, 1, 1))
    return t.text(t.call("nn.relu", t.call("add", y, x)))


def _gelu() -> str:
    t = Text()
    x = t.param("data", 128, 3072)
    y = t.call("add", t.call("erf", t.call("multiply", x, "0.70710677f")), "1f")
    return t.text(t.call("multiply", t.call("multiply", x, "0.5f"), y))


def _softmax(*shape: int) -> str:
    t = Text()
    return t.text(t.call("nn.softmax", t.param("data", *shape)))


def _layer_norm(*shape: int) -> str:
    t = Text()
    x = t.param("data", *shape)
    return t.text(t.call("nn.layer_norm", x, t.param("gamma", shape[-1]), t.param("beta", shape[-1])))


def _pool(op: str) -> str:
    t = Text()
    x = t.param("data", 1, 64, 112, 112)
    return t.text(t.call(op, x, pool_size=[3, 3], strides=[2, 2], padding=[1] * 4))


SMALL = (
    ("nn.avg_pool2d (1, 64, 112, 112), row-major", _pool("nn.avg_pool2d")),
    ("nn.max_pool2d (1, 64, 112, 112), row-major", _pool("nn.max_pool2d")),
    ("nn.softmax (12, 128, 128)", _softmax(12, 128, 128), _EXPONENTIAL + 4),
    ("nn.softmax (1024, 1000)", _softmax(1024, 1000), _EXPONENTIAL + 4),
    ("nn.layer_norm (128, 768)", _layer_norm(128, 768), _LAYER_NORM),
    ("nn.layer_norm (4096, 768)", _layer_norm(4096, 768), _LAYER_NORM),
    ("add, multiply, add, relu (1, 64, 112, 112)", _chain()),
    ("x · (1 + erf(x / √2)) / 2 (128, 3072)", _gelu(), _ERROR_FUNCTION + 5),
)


def _rows(net: Compiled, operator: str) -> list[Row]:
    """Every kernel with an operator of that name, in order of execution."""
    rows = []
    for k in net.kernels:
        if any(operator in o for o in k.operators):
            timed = net.kernel(k)
            share, limit = max((timed.of_peak, "peak"), (timed.of_copy, "copy"))
            rows.append(Row(_title(k), timed.seconds, share, limit, sum(x is k for x in net.calls)))
    return rows


def _alone(title: str, text: str, instructions: int = 0) -> Row:
    """A network of one operator, as a whole; `instructions` per element of its result, where that is what takes time."""
    net = Compiled(text)
    inputs, outputs = net.boundary
    flops = net.flops + 2 * instructions * (outputs // 4)
    timed = net.whole(rounds=9, flops=flops, moved=inputs + outputs)
    share, limit = max((timed.of_peak, "peak"), (timed.of_copy, "copy"))
    return Row(title, timed.seconds, share, limit)


def _title(k: PrimFunc) -> str:
    operators = " ".join(o.split(".")[-1] for o in k.operators)
    shapes = " ".join("x".join(map(str, b.shape)) for b in k.params[:2])
    depthwise = " groups" if "conv2d" in operators and k.params[1].shape[1] == 1 else ""
    return f"{shapes} {operators}{depthwise}"


def _report(title: str, rows: Sequence[Row]) -> None:
    print(f"  {title}")
    for r in rows:
        print(f"    {r.title:76s} x{r.calls} {r.seconds * 1e6:9.1f} µs {r.share * 100:6.1f} % of {r.limit}")
    bound = sum(r.seconds * r.share * r.calls for r in rows)
    total = sum(r.seconds * r.calls for r in rows)
    print(f"    {'whole':76s}    {total * 1e6:9.1f} µs {bound / total * 100:6.1f} %")
