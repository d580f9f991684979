"""Passes from Python: attributes, sequences, decorators, and what is said of mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.ir import Function, Module, Tuple
from irtool.passes import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInstrument,
    Sequential,
    create_function_pass,
    create_module_pass,
    function_pass,
    module_pass,
    passes,
)
from irtool.plugin import PluginError

pytestmark = pytest.mark.promise("Python API")

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { exp(nn.relu(%x)) }\n'


class Seen(PassInstrument):
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, module, info) -> None:
        self.names.append(info.name)


def names_run(p, **context) -> list[str]:
    seen = Seen()
    with PassContext(instruments=[seen], **context):
        p(irtool.parse(TEXT))
    return seen.names


def test_every_registered_pass_is_an_attribute() -> None:
    for name in passes.names():
        attribute = irtool.passes
        for part in name.split("."):
            attribute = getattr(attribute, part)
        assert attribute is passes.get(name)
        assert name.split(".")[0] in dir(irtool.passes)
    assert irtool.passes.FuseOps(fuse_opt_level=2) == irtool.passes.parse_pipeline("FuseOps{fuse_opt_level=2}")[0]


def test_unknown_pass_attribute_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"did you mean FuseOps\?"):
        irtool.passes.FuseOp  # noqa: B018
    with pytest.raises(AttributeError, match="Legalise"):
        irtool.passes.qnn.Legalise  # noqa: B018


def test_options_are_checked_where_a_pass_is_made() -> None:
    assert irtool.passes.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}).text().startswith("ConvertLayout{")
    with pytest.raises(UsageError, match="option fuse_opt_level of pass FuseOps: expected an integer"):
        irtool.passes.FuseOps(fuse_opt_level="two")


def test_sequential_takes_passes_names_and_texts() -> None:
    p = Sequential([irtool.passes.SimplifyExpr(), "FoldConstant", "FuseOps{fuse_opt_level=0}"], name="mine")
    assert (p.info.name, p.info.opt_level) == ("mine", 0)
    assert p.text() == "SimplifyExpr,FoldConstant,FuseOps{fuse_opt_level=0}"
    assert [n for n in names_run(p) if n != "InferType"] == ["mine", "SimplifyExpr", "FoldConstant", "FuseOps"]


def test_sequential_obeys_level_and_lists() -> None:
    fast = Sequential(["FastMath", "FuseOps"])
    assert "FastMath" not in names_run(fast)
    assert "FastMath" in names_run(fast, opt_level=4)
    assert "FastMath" in names_run(fast, required_pass=["FastMath"])
    assert "FuseOps" not in names_run(fast, disabled_pass=["FuseOps"])


def test_nested_sequential_is_gated_as_a_whole() -> None:
    inner = Sequential(["FuseOps"], opt_level=3, name="inner")
    outer = Sequential([inner])
    assert "FuseOps" not in names_run(outer)
    assert "inner" in names_run(outer, opt_level=3)
    assert "FuseOps" not in names_run(outer, opt_level=3, disabled_pass=["inner"])
    assert "FuseOps" in names_run(outer, required_pass=["inner"])


def test_sequential_runs_what_it_requires_within_a_sequence() -> None:
    inner = Sequential(["FuseOps"], required=["SimplifyExpr"], name="inner")
    names = [n for n in names_run(Sequential([inner])) if n != "InferType"]
    assert names == ["sequential", "SimplifyExpr", "inner", "FuseOps"]


def test_sequential_equals_the_pipeline_text() -> None:
    module = irtool.parse(TEXT)
    by_hand = Sequential([irtool.passes.FastMath(), irtool.passes.FuseOps(2)], opt_level=4)
    with PassContext(opt_level=4):
        result = by_hand(module)
    assert irtool.to_text(result) == irtool.to_text(irtool.run_passes(module, "FastMath,FuseOps{fuse_opt_level=2}"))


def drop_relu(function, module, context):
    from irtool.ir import rewrite
    from irtool.ops import is_call_to

    return rewrite(function, lambda old, new: new.args[0] if is_call_to(new, "nn.relu") else new)


@pytest.mark.parametrize(
    "decorated",
    [
        function_pass(drop_relu, opt_level=1),
        function_pass(opt_level=1)(drop_relu),
        create_function_pass(drop_relu, 1, "drop_relu"),
    ],
)
def test_function_pass_of_a_function(decorated) -> None:
    assert isinstance(decorated, FunctionPass)
    assert (decorated.info.name, decorated.info.opt_level) == ("drop_relu", 1)
    after = irtool.run_passes(irtool.parse(TEXT), [decorated])
    assert "nn.relu" not in irtool.to_text(after)
    assert after["main"].checked_type is not None
    assert "drop_relu" in repr(decorated)


def test_function_pass_of_a_class() -> None:
    @function_pass(opt_level=2, name="Only", required=["FoldConstant"], traceable=True)
    class OnlyIn:
        """Drops."""

        def __init__(self, name: str) -> None:
            self.function_name = name

        def transform_function(self, func, mod, ctx):
            assert mod["main"] is func
            assert isinstance(ctx, PassContext)
            return drop_relu(func, mod, ctx) if self.function_name == "main" else func

    assert issubclass(OnlyIn, FunctionPass)
    assert (OnlyIn.__name__, OnlyIn.__doc__) == ("OnlyIn", "Drops.")
    p = OnlyIn("main")
    assert p.function_name == "main"
    assert (p.info.name, p.info.required, p.info.traceable) == ("Only", ("FoldConstant",), True)
    assert "nn.relu" not in irtool.to_text(p(irtool.parse(TEXT)))
    other = irtool.parse(TEXT)
    assert OnlyIn("other")(other) is other
    assert names_run(Sequential([p])).count("FoldConstant") == 1


def test_module_pass_of_a_class_and_of_a_function() -> None:
    @module_pass(opt_level=0)
    class Copy:
        def __init__(self, name):
            self.target = name

        def transform_module(self, mod, ctx):
            return mod.with_function(self.target, mod["main"])

    assert list(Copy("twin")(irtool.parse(TEXT))) == ["main", "twin"]

    @module_pass(opt_level=2)
    def nothing(mod, ctx):
        return mod

    module = irtool.parse(TEXT)
    assert isinstance(nothing, ModulePass)
    assert nothing(module) is module
    assert create_module_pass(lambda m, c: m, 3, "same").info.opt_level == 3


def test_decorated_passes_skip_what_function_passes_skip() -> None:
    text = TEXT + "def @k(%x: Tensor[(4), float32], SkipOptimization=1) { nn.relu(%x) }\n"
    after = function_pass(drop_relu, opt_level=0)(irtool.parse(text))
    assert irtool.to_text(after).count("nn.relu") == 1


def test_a_pass_that_returns_nothing_is_told_so() -> None:
    @function_pass(opt_level=0)
    def forgets(function, module, context):
        drop_relu(function, module, context)

    with pytest.raises(
        PluginError, match=r"test_python_api\.py:\d+, pass forgets: forgets returned None, not a Function"
    ):
        forgets(irtool.parse(TEXT))

    @module_pass(opt_level=0)
    def wrong(module, context):
        return module["main"]

    with pytest.raises(PluginError, match="pass wrong: wrong returned a Function, not a Module"):
        irtool.run_passes(irtool.parse(TEXT), [wrong])

    @dataclass(frozen=True)
    class Forgets(FunctionPass):
        name = "Forgets"

        def transform(self, function, module, context):
            return None

    with pytest.raises(PluginError, match="pass Forgets: transform returned None, not a Function for @main"):
        Forgets()(irtool.parse(TEXT))


def test_mistakes_name_what_was_expected() -> None:
    with pytest.raises(TypeError, match="needs the level"):
        function_pass(drop_relu)
    with pytest.raises(TypeError, match="transform_function"):
        function_pass(opt_level=0)(type("Empty", (), {}))
    with pytest.raises(TypeError, match="a list of names"):
        function_pass(opt_level=0, required="FoldConstant")(drop_relu)
    with pytest.raises(TypeError, match="a function or a class, not an int"):
        function_pass(3, opt_level=0)
    with pytest.raises(TypeError, match="a list of passes, not a Module"):
        Sequential(irtool.parse(TEXT))
    with pytest.raises(UsageError, match="a class of passes"):
        Sequential([irtool.passes.FuseOps])
    with pytest.raises(UsageError, match="a pass, its name, or a pair"):
        Sequential([3])
    with pytest.raises(UsageError, match="unknown pass FuseOp"):
        Sequential(["FuseOp"])
    for wrong in ([], "def", None, 3):
        with pytest.raises(UsageError, match="a module, a function or an expression is expected"):
            irtool.run_passes(wrong, "FuseOps")
        with pytest.raises(UsageError, match="a module, a function or an expression is expected"):
            irtool.passes.FuseOps()(wrong)
    with pytest.raises(UsageError, match="passes are a pipeline text or a list, not a Module"):
        irtool.run_passes(irtool.parse(TEXT), irtool.parse(TEXT))


def test_a_function_where_a_module_is_expected() -> None:
    module = irtool.parse(TEXT)
    f = module["main"]
    assert irtool.to_text(irtool.run_passes(f, "FuseOps")) == irtool.to_text(irtool.run_passes(module, "FuseOps"))
    assert irtool.to_text(irtool.passes.FuseOps()(f)) == irtool.to_text(irtool.passes.FuseOps()(module))
    assert isinstance(irtool.passes.InferType()(f.body), Module)


def test_reprs_inform() -> None:
    context = PassContext(opt_level=3, disabled_pass=["FastMath"], config={"relay.FuseOps.max_depth": 4}, target="llvm")
    assert repr(context) == (
        "PassContext(opt_level=3, disabled_pass=['FastMath'], config={'relay.FuseOps.max_depth': 4}, target='llvm')"
    )
    assert repr(irtool.passes.FuseOps(fuse_opt_level=2)) == "<FuseOps{fuse_opt_level=2}, level 0>"
    assert repr(Sequential(["FastMath"], 2, "mine")) == "<mine: FastMath, level 2>"


def test_module_from_expr() -> None:
    module = irtool.parse(TEXT)
    body = module["main"].body
    from_body = Module.from_expr(body, functions={"other": module["main"]})
    assert [p.name for p in from_body["main"].params] == ["x"]
    assert list(from_body) == ["main", "other"]
    assert from_body["main"].body is body
    named = Function((), Tuple(()), None, (), {"global_symbol": "f"})
    assert Module.from_expr(named)["f"] is named
    assert from_body.get_global_var("other").name == "other"
    assert from_body[from_body.get_global_var("other")] is module["main"]
    with pytest.raises(UsageError, match="two functions @main"):
        Module.from_expr(body, functions={"main": named})
    with pytest.raises(KeyError, match="no function @othr") as caught:
        from_body["othr"]
    assert caught.value.diagnostics[0].help == "did you mean other?"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="no function @zzz"):
        from_body.get_global_var("zzz")
    with pytest.raises(UsageError, match="an expression is expected, not a list"):
        Module.from_expr([body])
