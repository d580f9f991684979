"""Names of TVM's: what means the same works, the rest says what to write; every name that the pages give is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool import relay
from irtool.diagnostics import UsageError
from irtool.ir.tvm_names import COUNTERPARTS
from irtool.relay import tvm
from irtool.relay.uncaught import explain_uncaught

pytestmark = pytest.mark.promise("Python API")

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-tvm.md"
DOTTED = re.compile(r"\b(?:irtool|relay)(?:\.[A-Za-z_]\w*)+")


def our_names() -> list[str]:
    """What the page and the table tell to write, as dotted names."""
    texts = [row for rows in COUNTERPARTS.values() for row in rows.values()]
    for line in PAGE.read_text().splitlines():
        cells = line.split(" | ")
        texts += cells[1:] if line.startswith("|") else [line]
    spans = [s for t in texts for s in (re.findall(r"`([^`]+)`", t) if "`" in t else [t])]
    return sorted({n for s in spans for n in DOTTED.findall(s) if not n.endswith((".json", ".X"))})


@pytest.mark.parametrize("name", our_names())
def test_a_name_is_reached_by_attribute_access_alone(name) -> None:
    start, *rest = name.split(".")
    code = f"import irtool; from irtool import relay; {start}.{'.'.join(rest)}"
    if len(rest) > 1:  # what another test imported makes more names visible: a new process
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        exec(code)


X = relay.var("x", shape=(1, 3, 8, 8))
CONV = relay.nn.conv2d(X, relay.var("w", shape=(4, 3, 3, 3)), strides=(2, 2), channels=4, kernel_size=3)
FUNCTION = relay.Function(relay.analysis.free_vars(CONV), CONV)
MODULE = irtool.Module.from_expr(FUNCTION)
ASKED = {"module": MODULE, "expression": CONV, "relay": relay, "irtool": irtool, "tvm": tvm}


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, rows in COUNTERPARTS.items() for n in rows if k in ASKED])
def test_a_name_that_is_not_here_says_what_to_write(kind, name) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(ASKED[kind], name)
    assert f"TVM's {name} is not here; write " in str(error.value)
    assert not hasattr(ASKED[kind], name)


def test_names_of_a_build_say_what_to_write() -> None:
    from irtool.driver.artifact import Artifact

    lib = Artifact("net", {}, [], {"arena_bytes": 0}, None, None)
    for name in COUNTERPARTS["build"]:
        with pytest.raises(AttributeError, match=f"TVM's {name} is not here; write "):
            getattr(lib, name)


def test_names_that_mean_the_same() -> None:
    assert [p.name_hint for p in FUNCTION.params] == ["x", "w"]
    assert relay.GlobalVar("f").name_hint == "f"
    assert MODULE.astext() == irtool.to_text(MODULE)
    assert MODULE["main"].astext().startswith("#[version")
    pair = relay.Tuple([X, CONV])
    assert relay.TupleGetItem(pair, 1).tuple_value is pair
    assert X.same_as(X) and not X.same_as(CONV)
    assert CONV.attrs["strides"] == CONV.attrs.strides == (2, 2)
    assert "channels" in list(CONV.attrs.keys()) and "channels" in CONV.attrs
    assert dict(CONV.attrs)["channels"] == 4
    with pytest.raises(KeyError, match="did you mean strides"):
        CONV.attrs["stride"]
    marked = FUNCTION.with_attr("Compiler", "npu").with_attr({"global_symbol": "f"})
    assert dict(marked.attrs) == {"Compiler": "npu", "global_symbol": "f"} and not FUNCTION.attrs
    assert "Compiler" not in marked.without_attr("Compiler").attrs
    typed = irtool.infer_types(MODULE)["main"]
    assert typed.with_attr("Inline", 1).checked_type is typed.checked_type
    assert relay.expr.Call is relay.Call and relay.ty.TensorType is relay.TensorType
    assert relay.function.Function is relay.Function
    assert relay.build_module.bind_params_by_name is relay.bind_params_by_name


def test_parameters_as_bytes() -> None:
    params = {"w": np.arange(6, dtype="float32").reshape(2, 3)}
    again = relay.load_param_dict(relay.save_param_dict(params))
    np.testing.assert_array_equal(again["w"], params["w"])
    bound = relay.bind_params_by_name(FUNCTION, {"w": np.ones((4, 3, 3, 3), "float32"), "other": params["w"]})
    assert [p.name for p in bound.params] == ["x"]


SCALED = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32], %w: Tensor[(4), float32]) { %x * %w }')
WEIGHT = {"w": np.full(4, 3, "float32")}
ORDERS = {
    "target": lambda: relay.build(SCALED, "c", params=WEIGHT),
    "function": lambda: relay.build(SCALED["main"], target="c", params=WEIGHT),
    "record": lambda: relay.build(SCALED, irtool.Target("c"), params=WEIGHT),
    "dictionary": lambda: relay.build(SCALED, {"kind": "c"}, params=WEIGHT),
    "by device": lambda: relay.build(SCALED, {"cpu": "c"}, params=WEIGHT),
    "list": lambda: relay.build(SCALED, ["c"], params=WEIGHT),
    "host": lambda: relay.build(SCALED, target="c", target_host="c", params=WEIGHT),
    "all in order": lambda: relay.build(SCALED, "c", None, "graph", "cpp", None, None, WEIGHT, "net"),
    "named": lambda: relay.build(
        ir_mod=SCALED, target="c", executor="aot", runtime="crt", params=WEIGHT, mod_name="net"
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_build_takes_the_orders_of_tvm(order) -> None:
    lib = ORDERS[order]()
    np.testing.assert_array_equal(lib.run([np.arange(4, dtype="float32")]), 3 * np.arange(4, dtype="float32"))
    notes = [w for w in lib.report["warnings"] if "changes nothing" in w]
    assert len(notes) == (2 if order == "named" else 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: irtool.build(SCALED, "llvm"), "params are arrays by name, not a str"),
        (lambda: irtool.build(SCALED, ["w"]), "params are arrays by name, not a list"),
        (lambda: relay.build(SCALED, WEIGHT), "the second argument of relay.build is the target"),
        (lambda: relay.build(SCALED, 3), "a target is expected behind the module, not an int"),
        (lambda: relay.build(SCALED, ["c", "llvm"]), "a build is for one target, and there are 2"),
        (lambda: relay.build(SCALED, "c", executor="graf"), "there is no executor graf"),
        (lambda: relay.build(SCALED, "c", runtime=3), "runtime is a name such as cpp, not an int"),
        (lambda: relay.build(SCALED, "c", params="w.npz"), "params are arrays by name, not a str"),
        (
            lambda: relay.build(SCALED, "c", workspace_memory_pools=[1]),
            "memory pools are a WorkspaceMemoryPools, not a list",
        ),
    ],
)
def test_build_refuses_what_it_cannot_mean(wrong, message) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        wrong()


CONSTANT, EXTENT = relay.const(1.0), relay.var("x", shape=(2, 3)).type_annotation.shape[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: CONSTANT.data.numpy(), "write the array itself"),
        (lambda: CONSTANT.data.asnumpy(), "write the array itself"),
        (lambda: EXTENT.value, "write the integer itself"),
        (lambda: np.ones(2).copyto(None), "numpy.copyto"),
        (lambda: EXTENT.values, ""),
        (lambda: "text".value, ""),
        (lambda: np.ones(2).name, ""),
    ],
)
def test_attributes_of_arrays_and_integers_that_end_a_program(wrong, message, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: shown.append(error))
    explain_uncaught()
    explain_uncaught()  # once is enough
    with pytest.raises(AttributeError) as caught:
        wrong()
    sys.excepthook(caught.type, caught.value, caught.tb)
    assert shown == [caught.value]
    notes = getattr(caught.value, "__notes__", [])
    assert len(notes) == bool(message) and all(message in n and "coming-from-tvm" in n for n in notes)
