"""Partitioning for other compilers: tables of targets, pattern files, regions, and that values stay what they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Function, Module, TensorType, Var, post_order
from irtool.ops.base import call
from irtool.passes.dataflow import is_op, matches, wildcard
from irtool.passes.instruments.values import difference
from irtool.passes.partition import pattern_tables
from irtool.passes.partition.annotations import begin, end
from irtool.passes.partition.pattern_file import read_patterns
from irtool.passes.partition.pattern_tables import pattern_table, read_table, register_pattern_table, table_names
from irtool.passes.partition.regions import Regions
from irtool.passes.partition.targets import read_targets, register_target
from tests.generators import modules
from tests.work import steps

T = TensorType((2, 3), "float32")
PIPELINE = "MergeCompilerRegions,PartitionGraph"


def module(text: str) -> Module:
    return irtool.parse('#[version = "0.0.5"]\n' + text)


def compilers(m: Module) -> list[str]:
    return [f.attrs["Compiler"] for f in m.relay_functions.values() if "Compiler" in f.attrs]


@pytest.fixture(autouse=True)
def targets() -> None:
    register_target("npu", [{"operators": ["tanh", "nn.relu", "add", "multiply", "abs"]}])
    register_target("gpu", [{"operators": ["sigmoid", "maximum", "subtract"]}])


# ---------------------------------------------------------------------------------------------------- whole pipeline


@settings(max_examples=40, deadline=None)
@given(modules(size=8), st.booleans())
def test_partitioning_keeps_values(m: Module, everything: bool) -> None:
    options = {"targets": ["npu", "gpu"], "include_non_call_ops": everything}
    typed = irtool.infer_types(m)
    before = irtool.to_text(typed)
    after = irtool.run_passes(typed, [("AnnotateTarget", options), PIPELINE])
    assert irtool.to_text(typed) == before
    inputs = random_inputs(typed["main"], 0)
    with np.errstate(all="ignore"):
        want, got = irtool.evaluate(typed, inputs), irtool.evaluate(after, inputs)
    assert difference(want, got, 1e-6, 1e-6) is None
    assert "annotation.compiler" not in irtool.to_text(after)


def test_what_goes_through_a_variable_is_kept_in_order() -> None:
    """`%0` leads to `%t` by way of a reference, and `%1` needs both: no function can do `%0` and `%1` at once."""
    m = module(
        "def @main(%x: Tensor[(2, 3), float32]) { let %t = let %r = ref(%x); %0 = abs(%x);"
        " let %u = ref_write(%r, %0); ref_read(%r); multiply(%0, tanh(%t)) }"
    )
    options = {"targets": ["npu"], "include_non_call_ops": False}
    x = np.array([[-1, 0, 1], [2, 3, 4]], "float32")
    after = irtool.run_passes(m, [("AnnotateTarget", options), PIPELINE])
    np.testing.assert_array_equal(irtool.evaluate(after, [x]), irtool.evaluate(m, [x]))


def test_supported_operators_of_one_compiler_end_in_one_function() -> None:
    m = module("def @main(%x: Tensor[(2, 3), float32]) { exp(add(nn.relu(tanh(%x)), %x)) }")
    after = irtool.run_passes(m, [("AnnotateTarget", {"targets": "npu"}), PIPELINE])
    assert compilers(after) == ["npu"]
    called = {e.op.name for e in post_order(after["main"]) if isinstance(e, Call)}
    assert called == {"exp", "tvmgen_default_npu_main_0"}


def chain(length: int, *names: str) -> Module:
    x = Var("x", T)
    e = call(names[0], x)
    for i in range(1, length):
        e = call(names[i % len(names)], e)
    return irtool.infer_types(Module({"main": Function((x,), e)}))


def test_long_chains() -> None:
    one = irtool.run_passes(chain(5_000, "nn.relu"), [("AnnotateTarget", {"targets": "npu"}), PIPELINE])
    assert len(compilers(one)) == 1
    many = irtool.run_passes(
        chain(600, "nn.relu", "sigmoid"), [("AnnotateTarget", {"targets": ["npu", "gpu"]}), PIPELINE]
    )
    assert len(compilers(many)) == 600


@pytest.mark.parametrize(("names", "targets"), [(("nn.relu",), "npu"), (("nn.relu", "sigmoid"), ["npu", "gpu"])])
def test_the_work_on_chains_grows_with_their_length(names: tuple[str, ...], targets: object) -> None:
    def work(length: int) -> int:
        module = chain(length, *names)
        return steps(lambda: irtool.run_passes(module, [("AnnotateTarget", {"targets": targets}), PIPELINE]))

    work(10)
    assert work(200) < 4.5 * work(50)


def test_names_stay_apart_from_those_of_the_module() -> None:
    m = module(
        "def @tvmgen_default_npu_main_0(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { exp(%x) }"
        "def @main(%x: Tensor[(2, 3), float32]) { @tvmgen_default_npu_main_0(nn.relu(%x)) }"
    )
    after = irtool.run_passes(m, [("AnnotateTarget", {"targets": "npu"}), PIPELINE])
    assert set(after.functions) == {"main", "tvmgen_default_npu_main_0", "tvmgen_default_npu_main_0_1"}
    x = np.array([[-1, 0, 1], [2, 3, 4]], "float32")
    np.testing.assert_array_equal(irtool.evaluate(after, [x]), irtool.evaluate(irtool.infer_types(m), [x]))


# ---------------------------------------------------------------------------------------------------- regions


def test_regions_number_their_begins_and_join_where_they_meet() -> None:
    x, y = Var("x", T), Var("y", T)
    one, two = begin(x, "npu"), begin(y, "npu")
    last = end(call("add", call("exp", one), two), "npu")
    regions = Regions(last)
    region = regions.of(last)
    assert region is not None and region.id == 0 and regions.of(two) is region
    assert list(region.inputs) == [one, two] and list(region.outputs) == [last]
    assert regions.of(x) is None


def test_a_region_within_one_has_no_mark_between() -> None:
    inner = end(call("exp", begin(Var("x", T), "npu")), "npu")
    outer = end(call("abs", begin(inner, "npu")), "npu")
    regions = Regions(outer)
    source, into = regions.of(inner), regions.of(outer)
    assert source is not None and into is not None and source is not into
    regions.merge(source, into)
    assert regions.of(inner) is into and list(into.outputs) == [outer] and len(into.inputs) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('annotation.compiler_end(%x, compiler="npu")', "none begins before"),
        (
            'annotation.compiler_end(abs(annotation.compiler_begin(%x, compiler="a")), compiler="b")',
            "ends here as one of b",
        ),
        (
            'annotation.compiler_end(add(annotation.compiler_begin(%x, compiler="a"), %x), compiler="a")',
            "belongs to no region",
        ),
        (
            'add(annotation.compiler_begin(%x, compiler="a"), annotation.compiler_begin(%x, compiler="b"))',
            "from a region of b",
        ),
        ('abs(annotation.compiler_begin(%x, compiler="a"))', "uses a value inside a region of a"),
    ],
)
def test_marks_that_do_not_fit(body: str, message: str) -> None:
    m = module(f"def @main(%x: Tensor[(2, 3), float32]) {{ {body} }}")
    with pytest.raises(IrError, match=message) as caught:
        irtool.run_passes(m, "PartitionGraph")
    assert caught.value.exit_code == 1


# ---------------------------------------------------------------------------------------------------- tables of targets


def marked(m: Module, path: Path) -> set[str]:
    config = {"irtool.partition.targets": str(path)}
    after = irtool.run_passes(m, [("AnnotateTarget", {"targets": "own"}), PIPELINE], config=config)
    functions = [f for f in after.relay_functions.values() if "Compiler" in f.attrs]
    return {e.op.name for f in functions for e in post_order(f) if isinstance(e, Call)}


def test_a_table_from_a_file(tmp_path: Path) -> None:
    m = module(
        "def @main(%x: Tensor[(2, 3), float32], %i: Tensor[(2, 3), int32], %w: Tensor[(4, 3), float32]) {"
        "(nn.relu(%x), abs(%i), nn.dense(%x, %w, units=4), clip(%x, a_min=0f, a_max=6f), concatenate((%i, %i))) }"
    )
    path = tmp_path / "own.json"

    def supported(*rules: dict) -> set[str]:
        path.write_text(json.dumps({"own": {"rules": rules}}))
        return marked(m, path)

    every = ["nn.relu", "abs", "nn.dense", "clip", "concatenate"]
    assert supported({"operators": every}) == set(every)
    assert supported({"operators": every, "dtypes": ["float32"]}) == {"nn.relu", "nn.dense", "clip"}
    assert supported({"operators": every, "excluded_dtypes": ["float32"]}) == {"abs", "concatenate"}
    assert supported({"operators": every, "constants": [1]}) == set()
    assert supported({"operators": ["clip"], "attributes": {"a_max": [1.0]}}) == set()
    assert supported({"operators": ["clip"], "attributes": {"a_max": [1.0, 6.0]}}) == {"clip"}
    assert supported({"operators": ["clip"], "dtypes": ["int8"]}, {"operators": ["clip"]}) == {"clip"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no table of targets"),
        ("[]", "map names of targets"),
        ('{"a": []}', "lacks its list of rules"),
        ('{"a": {"rules": [{}]}}', "lacks its list of operators"),
        ('{"a": {"rules": [{"operators": ["nn.rel"]}]}}', "unknown operator nn.rel"),
        ('{"a": {"rules": [{"operators": "nn.relu"}]}}', "a list of names"),
        ('{"a": {"rules": [{"operators": [], "dtype": []}]}}', "has no dtype"),
        ('{"a": {"rules": [{"operators": [], "attributes": {"axis": 1}}]}}', "lists of the values"),
        ('{"a": {"rules": [], "optimise": ""}}', "has no optimise"),
        ('{"a": {"rules": [], "optimize": 1}}', "text of a pipeline"),
    ],
)
def test_tables_that_make_no_sense(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_targets(str(path))


# ---------------------------------------------------------------------------------------------------- pattern files


def one_pattern(text: str):
    (pattern,) = read_patterns(text)
    return pattern[1]


def typed(body: str) -> Call:
    params = "%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32], %i: Tensor[(2, 3), int32]"
    return irtool.infer_types(module(f"def @main({params}) {{ {body} }}"))["main"].body


@pytest.mark.parametrize(
    ("pattern", "body", "fits"),
    [
        ("wildcard()", "%x", True),
        ('is_var("x")', "%x", True),
        ('is_var("y")', "%x", False),
        ("is_constant()", "2f", True),
        ('is_expr("2f")', "2f", True),
        ('is_expr("2f")', "3f", False),
        ('is_op("exp")(wildcard())', "exp(%x)", True),
        ('is_op("exp")(wildcard())', "log(%x)", False),
        ('(is_op("exp") | is_op("log"))(wildcard())', "log(%x)", True),
        ('is_op("exp")(wildcard()) | is_constant()', "exp(%x)", True),
        ('is_call(is_op("add"))', "add(%x, %y)", True),
        ('is_call(is_op("add"), [is_var("y"), is_var("y")])', "add(%x, %y)", False),
        ('is_op("clip")(wildcard()).has_attr(a_min=0.0)', "clip(%x, a_min=0f, a_max=1f)", True),
        ('has_attr(is_op("clip")(wildcard()), {"a_min": 1.0})', "clip(%x, a_min=0f, a_max=1f)", False),
        ('wildcard().has_dtype("int32")', "abs(%i)", True),
        ('has_dtype("int32")', "abs(%x)", False),
        ("wildcard().has_shape([2, 3])", "abs(%x)", True),
        ("has_shape([3, 2])", "abs(%x)", False),
        ('has_type("Tensor[(2, 3), float32]")', "abs(%x)", True),
        ('wildcard().has_type("Tensor[(2, 3), int32]")', "abs(%x)", False),
        ("is_tuple()", "(%x, %y)", True),
        ('is_tuple([is_var("x"), wildcard()])', "(%x, %y)", True),
        ("is_tuple_get_item(is_tuple(), 1)", "(%x, %y).1", True),
        ("is_tuple_get_item(is_tuple(), 1)", "(%x, %y).0", False),
        ('is_if(wildcard(), is_var("x"), is_var("y"))', "if (True) { %x } else { %y }", True),
        ('is_let(wildcard(), is_op("exp")(wildcard()), wildcard())', "let %v = exp(%x); %v", True),
        ('is_function([wildcard()], is_op("exp")(wildcard()))', "fn (%z: float32) { exp(%z) }", True),
        ('is_var("x") + is_var("y")', "add(%x, %y)", True),
        ('is_var("x") - is_var("y")', "subtract(%y, %x)", False),
        ('is_var("x") * is_var("y") / is_constant()', "divide(multiply(%x, %y), 2f)", True),
        ('is_var("x").optional(is_op("exp"))', "exp(%x)", True),
        ('is_var("x").optional(lambda v: is_op("log")(v) + v)', "add(log(%x), %x)", True),
        ('is_op("abs")(wildcard()).dominates(is_op("exp")(wildcard()))', "abs(nn.relu(exp(%x)))", True),
        (
            'dominates(is_op("exp")(wildcard()), is_op("log")(wildcard()), is_op("abs")(wildcard()))',
            "abs(exp(%x))",
            True,
        ),
    ],
)
def test_notation(pattern: str, body: str, fits: bool) -> None:
    assert matches(one_pattern(f'pattern("p", {pattern})'), typed(body)) is fits


def test_names_are_shared_parts() -> None:
    twice = one_pattern('x = wildcard()\npattern("p", is_op("subtract")(x, x))')
    apart = one_pattern('x, y = wildcard(), wildcard()\npattern("p", is_op("subtract")(x, y))')
    assert not matches(twice, typed("subtract(%x, %y)")) and matches(twice, typed("subtract(%x, %x)"))
    assert matches(apart, typed("subtract(%x, %y)"))


def test_patterns_come_in_order_with_comments_between() -> None:
    text = '"""About."""\n# first\npattern("a.one", wildcard())\nf = lambda p, q: p | q\npattern("a.two", f(is_var(), is_constant()))\n'
    assert [name for name, _ in read_patterns(text)] == ["a.one", "a.two"]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('pattern("a", wildcrd())', "wildcrd is not defined", (1, 14)),
        ('\npattern("é", is_op("nn.rel"))', "unknown operator nn.rel", (2, 14)),
        ('x = is_op("exp"', "not a pattern file", (1, 10)),
        ("import os", "expected name", (1, 1)),
        ("for i in []: pass", "expected name", (1, 1)),
        ('x = __import__("os")', "__import__ is not defined", (1, 5)),
        ('x = "a".upper()', "has no upper", (1, 5)),
        ("x = [wildcard()][0]", "not part of the notation", (1, 5)),
        ("a, b = wildcard()", "2 names for one value", (1, 1)),
        ("wildcard = is_constant()", "meaning of its own", (1, 1)),
        ('pattern("a", 3)', "3 is no pattern", (1, 14)),
        ("pattern(wildcard(), wildcard())", "is to be a string", (1, 9)),
        ("pattern(wildcard())", "write pattern", (1, 1)),
        ("x = has_shape(3)", "wrong arguments for has_shape", (1, 5)),
        ('x = has_type("Tensor[")', "wrong arguments for has_type", (1, 5)),
        ("x = wildcard() + 1", "1 is no pattern", (1, 18)),
        ("x = wildcard()(groups=1)", "has_attr", (1, 5)),
        ("f = lambda y: y\nx = f()", "has 1 parameters, not 0", (2, 5)),
        ("x = wildcard().optional(3)", "3 cannot be called", (1, 5)),
        ('x = is_expr("add(")', "expected", (1, 5)),
    ],
)
def test_files_that_make_no_sense(text: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(IrError, match=message) as caught:
        read_patterns(text, "x.patterns")
    span = caught.value.diagnostics[0].span
    assert span is not None and span.source.name == "x.patterns"
    assert span.source.position(span.start) == place


def test_a_file_that_never_ends() -> None:
    with pytest.raises(IrError, match="never comes to an end"):
        read_patterns("x = (lambda f: f(f))(lambda f: f(f))")


def test_nesting_has_a_limit() -> None:
    deep = "x = wildcard()\n" + 'x = is_op("exp")(x)\n' * 300 + 'pattern("a", x)'
    with pytest.raises(IrError, match="nested more than 200 deep"):
        read_patterns(deep)
    with pytest.raises(IrError, match="nested too deeply"):
        read_patterns("x = " + "+".join(["wildcard()"] * 50_000))


# ---------------------------------------------------------------------------------------------------- MergeComposite


def composites(m: Module, table: object) -> list[str]:
    after = irtool.run_passes(m, [("MergeComposite", {"pattern_table": table})])
    functions = [e.op for e in post_order(after["main"]) if isinstance(e, Call) and isinstance(e.op, Function)]
    return [str(f.attrs["Composite"]) for f in functions]


ADD_RELU = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))


def test_tables_that_come_along_can_be_read() -> None:
    assert {"bnns", "dnnl"} <= set(table_names())
    for name in table_names():
        assert pattern_table(name)


def test_the_longest_pattern_of_a_table_wins() -> None:
    m = module(
        "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 1, 1), float32], %b: Tensor[(4, 1, 1), float32]) {"
        "%0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1]); nn.relu(add(%0, %b)) }"
    )
    assert composites(m, "dnnl") == ["dnnl.conv2d_bias_relu"]
    assert composites(m, read_table("bnns")) == ["bnns.conv2d_bias_relu"]
    assert composites(m, "bnns") == []  # its weights must be constants


def test_a_check_decides() -> None:
    m = module("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { nn.relu(add(%x, %y)) }")
    assert composites(m, [("npu.add_relu", ADD_RELU)]) == ["npu.add_relu"]
    assert composites(m, [("npu.add_relu", ADD_RELU, lambda e: e.op.name == "nn.relu")]) == ["npu.add_relu"]
    assert composites(m, [("npu.add_relu", ADD_RELU, lambda e: False)]) == []


def test_registered_tables_and_lists_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_tables, "_registered", {})
    m = module("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { nn.relu(add(%x, %y)) }")
    register_pattern_table("mine", [("npu.add_relu", ADD_RELU)])
    assert composites(m, "mine") == ["npu.add_relu"]
    assert composites(m, ["dnnl", "mine"]) == ["npu.add_relu"]
    assert composites(m, [("npu.add", is_op("add")(wildcard(), wildcard())), "mine"]) == ["npu.add"]


@pytest.mark.parametrize("table", ["dnll", "none.patterns", [3], [("a", 3)]])
def test_there_is_no_such_table(table: object) -> None:
    with pytest.raises(UsageError):
        composites(module("def @main(%x: Tensor[(2, 3), float32]) { %x }"), table)


def test_later_patterns_see_the_types_of_what_earlier_ones_made() -> None:
    m = module("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { exp(nn.relu(add(%x, %y))) }")
    outer = is_op("exp")(wildcard().has_dtype("float32"))
    assert composites(m, [("npu.add_relu", ADD_RELU), ("npu.exp", outer)]) == ["npu.add_relu", "npu.exp"]


def merged(body: str, patterns: str, tmp_path: Path) -> list[tuple[str, str, int]]:
    """Name, contents and number of parameters of each composite function that is called, in order."""
    path = tmp_path / "x.patterns"
    path.write_text(patterns)
    params = ", ".join(f"%{name}: Tensor[(2, 3), float32]" for name in "abcdefgh")
    m = module(f"def @main({params}) {{ {body} }}")
    after = irtool.run_passes(m, [("MergeComposite", {"pattern_table": str(path)})])
    called = [e.op for e in post_order(after["main"]) if isinstance(e, Call) and isinstance(e.op, Function)]
    return [(str(f.attrs["Composite"]), str(f.attrs["PartitionedFromPattern"]), len(f.params)) for f in called]


def test_the_table_says_what_comes_first(tmp_path: Path) -> None:
    whole = 'pattern("whole", is_op("nn.relu")(is_op("abs")(is_op("add")(wildcard(), wildcard()))))\n'
    front = 'pattern("front", is_op("abs")(is_op("add")(wildcard(), wildcard())))\n'
    back = 'pattern("back", is_op("nn.relu")(is_op("abs")(wildcard())))\n'
    body = "nn.relu(abs(add(%a, %b)))"
    assert merged(body, whole + front + back, tmp_path) == [("whole", "add_abs_nn.relu_", 2)]
    assert merged(body, front + back + whole, tmp_path) == [("front", "add_abs_", 2)]
    assert merged(body, back + whole + front, tmp_path) == [("back", "abs_nn.relu_", 1)]


def test_contents_tell_which_alternative_matched(tmp_path: Path) -> None:
    layer = 'pattern("layer", is_op("add")(is_op("exp")(wildcard()), wildcard()).optional(is_op("nn.relu")))'
    body = "add(exp(nn.relu(add(exp(%a), %b))), %c)"
    assert merged(body, layer, tmp_path) == [("layer", "exp_add_nn.relu_", 2), ("layer", "exp_add_", 2)]


ADD_SUB_MUL = (
    'x, y = wildcard(), wildcard()\npattern("asm", is_op("multiply")(is_op("add")(x, y), is_op("subtract")(x, y)))'
)


def test_branches_meet_in_one_function(tmp_path: Path) -> None:
    one = "multiply(add(%a, %b), subtract(%a, %b))"
    assert merged(one, ADD_SUB_MUL, tmp_path) == [("asm", "add_subtract_multiply_", 2)]
    assert len(merged(f"multiply({one}, {one})", ADD_SUB_MUL, tmp_path)) == 2
    assert merged("multiply(add(%a, %b), subtract(%c, %d))", ADD_SUB_MUL, tmp_path) == []


def test_a_diamond_with_a_way_out_is_left_alone(tmp_path: Path) -> None:
    body = "%0 = add(%a, %b); %1 = multiply(%0, subtract(%a, %b)); (%1, exp(%0))"
    assert merged(body, ADD_SUB_MUL, tmp_path) == []


def test_a_projection_is_part_of_a_match(tmp_path: Path) -> None:
    text = 'pattern("half", is_op("nn.relu")(is_tuple_get_item(is_op("split")(wildcard()), 0)))'
    split = "split(%a, indices_or_sections=3i64, axis=1)"
    assert merged(f"nn.relu({split}.0)", text, tmp_path) == [("half", "split_TupleGetItem0_nn.relu_", 1)]
    assert merged(f"nn.relu({split}.1)", text, tmp_path) == []
