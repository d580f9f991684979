"""The rule by which arrays stand for tensors, over dtypes, orders of bytes and shapes: one for every way of running."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool import ConversionWarning, IrError
from irtool.driver.artifact import Artifact
from irtool.ir.conversion import dtype_name, holds_every
from irtool.parser.params import decode_params, encode_params

pytestmark = pytest.mark.promise("one rule for inputs")

DTYPES = ("bool", *(f"{k}{b}" for k in ("int", "uint") for b in (8, 16, 32, 64)), "float16", "float32", "float64")


def module_of(declared: str) -> irtool.Module:
    return irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), {declared}]) {{ copy(%x) }}\n')


@cache
def library_of(declared: str) -> Artifact:
    return irtool.build(module_of(declared), mcpu="none", vector=False, cflags="-O0")


def every_value_survives(declared: str, dtype: str) -> bool:
    """The rule, decided by numbers: the least and greatest values, and those next to them, as integers of any size."""
    if declared == dtype:
        return True
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        probe = [float(info.max), float(info.smallest_subnormal), 1 + float(info.eps)]
        if np.dtype(declared).kind != "f":
            return False
        with np.errstate(all="ignore"):
            return all(float(np.asarray(v, dtype).astype(declared)) == v for v in probe)
    top = 1 if dtype == "bool" else int(np.iinfo(dtype).max)
    low = 0 if dtype == "bool" else int(np.iinfo(dtype).min)
    for v in (low, min(low + 1, 0), top - 1, top):
        with np.errstate(all="ignore"):
            got = np.asarray(v, dtype).astype(declared)
        if declared == "bool":
            return False
        if not np.isfinite(got.astype("float64")) or int(got) != v:
            return False
    return True


@pytest.mark.parametrize("declared", DTYPES)
def test_the_rule_is_about_every_value_of_a_dtype(declared: str) -> None:
    for dtype in DTYPES:
        assert holds_every(declared, dtype) == every_value_survives(declared, dtype), dtype


def outcome(run: object, *arguments: object) -> tuple[str, object]:
    """What a way of running does with the input: its result and what it warned of, or what it refused with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run(*arguments)  # type: ignore[operator]
        except IrError as error:
            return "refused", [(d.message, d.help) for d in error.diagnostics]
    assert {w.category for w in caught} <= {ConversionWarning}
    assert {w.filename for w in caught} <= {__file__}
    return "ran", (result, sorted({str(w.message) for w in caught}))


@st.composite
def arrays(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """A wanted dtype, and an array of any dtype, order of bytes and layout; mostly of the right shape."""
    declared, dtype = draw(st.sampled_from(DTYPES)), draw(st.sampled_from((*DTYPES, "complex64")))
    shape = draw(st.sampled_from(((2, 3), (2, 3), (2, 3), (3, 2), (6,), (), (2, 3, 1), (0, 3))))
    values = np.asarray(draw(st.lists(st.integers(-300, 300), min_size=30, max_size=30)))
    whole = np.resize(values, (*shape, 2)).astype(dtype)
    array = whole[..., 0] if draw(st.booleans()) else np.asfortranarray(whole[..., 1])
    return declared, array.astype(array.dtype.newbyteorder(draw(st.sampled_from("<>="))), order="K")


@pytest.mark.robustness("inputs")
@settings(max_examples=150, deadline=None)
@given(arrays())
def test_interpreter_library_and_weights_take_the_same(case: tuple[str, np.ndarray]) -> None:
    check_all_ways(*case)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_all_ways_take_the_same_for_int16(dtype: str) -> None:
    """One array of each kind: equal, converted, and refused."""
    check_all_ways("int16", np.ones((2, 3), dtype))


def check_all_ways(declared: str, array: np.ndarray) -> None:
    """Checks that interpreter, library and bound weights convert an array alike, warn alike and refuse alike."""
    how, interpreted = outcome(irtool.evaluate, module_of(declared), [array])
    compiled = outcome(library_of(declared).run, [array])
    by_name = outcome(library_of(declared).run, {"x": array})
    bound = outcome(lambda: irtool.run_passes(_bound(declared, array), "FoldConstant"))
    dtype, scalar = array.dtype.newbyteorder("=").name, array.ndim == 0
    fits = array.shape == (2, 3) and dtype in DTYPES and holds_every(declared, dtype)
    assert (how == "ran") == fits
    assert {compiled[0], by_name[0], bound[0]} == {how}
    if not fits:
        assert compiled[1] == interpreted and bound[1] == interpreted
        message, hint = interpreted[0]  # type: ignore[index]
        assert message.startswith(f"%x is Tensor[(2, 3), {declared}], but its value is {dtype}{list(array.shape)}: ")
        if dtype in DTYPES and not scalar and not holds_every(declared, dtype):
            assert hint is not None and f'np.asarray(x).astype("{declared}")' in hint
        return
    (a, messages), (b, also) = interpreted, compiled[1]  # type: ignore[misc]
    assert messages == also == by_name[1][1]  # type: ignore[index]
    assert len(messages) == (dtype != declared) and all(declared in s and dtype in s for s in messages)
    for result in (a, b):
        assert result.dtype.name == declared and result.dtype.isnative
        np.testing.assert_array_equal(result, array.astype(declared))


def _bound(declared: str, array: np.ndarray) -> irtool.Module:
    from irtool.passes.core.bind import bind_params

    return bind_params(module_of(declared), {"x": array})


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ("int32", [[1, 2, 3], [4, 5, 6]], None),
        ("float32", [[0.1, 2, True], [4, 5, 6]], None),
        ("bool", [[True, 0, 1], [False, 1, 0]], None),
        ("int32", [[1.5, 2, 3], [4, 5, 6]], "1.5 is no int32"),
        ("int8", [[1, 2, 300], [4, 5, 6]], "300 is no int8"),
        ("uint64", [[1, 2, -1], [4, 5, 6]], "-1 is no uint64"),
        ("uint64", [[1, 2, 2**64 - 1], [4, 5, 0]], None),
        ("int64", [[2**63, -1, 0], [0, 0, 0]], "9223372036854775808 is no int64"),
        ("float32", [[2**24 + 1, 0, 0], [0, 0, 0]], "16777217 is no float32"),
        ("float16", [[1e6, 0, 0], [0, 0, 0]], "1000000.0 is too large for float16"),
        ("float16", [[float("inf"), float("nan"), 0], [0, 0, 0]], None),
        ("bool", [[2, 0, 0], [0, 0, 0]], "2 is no bool"),
        ("float32", [[1, 2], [3]], "inhomogeneous"),
        ("float32", [["a", 0, 0], [0, 0, 0]], "a str in it"),
        ("float32", [1, 2, 3], "the ranks are 2 and 1"),
        ("float32", None, "its value is None, which is no array"),
        ("float32", "text", "is a str, which is no array"),
        ("float32", {}, "is a dict, which is no array"),
        ("float32", [np.zeros(3), np.zeros(3)], "float64[2, 3]: the data types differ"),
        ("float32", [[np.float64(1), 0, 0], [0, 0, 0]], "float64[2, 3]: the data types differ"),
        ("float32", np.ma.masked_equal(np.zeros((2, 3), "float32"), 0), "are masked"),
        ("float32", np.zeros((2, 3), object), "object[2, 3]"),
    ],
)
def test_numbers_and_other_values(declared: str, value: object, message: str | None) -> None:
    for run in (lambda x: irtool.evaluate(module_of(declared), [x]), lambda x: library_of(declared).run([x])):
        how, result = outcome(run, value)
        if message is not None:
            assert how == "refused" and message in result[0][0], result  # type: ignore[index]
        else:
            assert how == "ran", result
            np.testing.assert_array_equal(result[0], np.asarray(value, declared))  # type: ignore[index]


def test_integers_without_axes_are_taken_by_value() -> None:
    """numpy makes an int64 of any integer."""
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%n: int32) { add(%n, 1) }\n')
    with pytest.warns(ConversionWarning, match=r"%n is int32, and its value is int64"):
        assert irtool.evaluate(module, [np.int64(3)]) == 4
    with pytest.raises(IrError, match="data types differ"):
        irtool.evaluate(module, [np.int64(2**40)])
    assert irtool.evaluate(module, [3]) == 4


def test_bits_of_bfloat16_are_never_taken_for_integers() -> None:
    pytest.importorskip("ml_dtypes")
    import ml_dtypes

    numbers = np.asarray([[1.5, -2, 3], [4, 5, 6]], ml_dtypes.bfloat16)
    read = decode_params(encode_params({"x": numbers}))["x"]
    assert dtype_name(read) == "bfloat16"
    with pytest.raises(IrError, match="is bfloat16"):
        irtool.evaluate(module_of("int32"), [read])
    with pytest.warns(ConversionWarning):
        np.testing.assert_array_equal(irtool.evaluate(module_of("float32"), [read]), numbers.astype("float32"))
    with pytest.warns(ConversionWarning):
        np.testing.assert_array_equal(library_of("float32").run([read]), numbers.astype("float32"))
    assert encode_params({"x": read}) == encode_params({"x": numbers})


def test_structure_of_tuples_is_that_of_the_parameter() -> None:
    module = irtool.parse(
        '#[version = "0.0.5"]\ndef @main(%t: (Tensor[(2), float32], (int32, bool))) { (%t.0, %t.1) }\n'
    )
    library = irtool.build(module, mcpu="none", vector=False, cflags="-O0")
    x = np.ones(2, "float32")
    for run in (lambda v: irtool.evaluate(module, v), library.run):
        with pytest.raises(IrError, match=r"%t is .*: give a tuple of 2"):
            run([(x, 1, True)])
        with pytest.raises(IrError, match=r"%t\.1\.0.*1\.5 is no int32"):
            run([(x, (1.5, True))])
        with pytest.raises(IrError, match=r"@main takes 1 input \(%t\), 2 given"):
            run([x, x])
        with pytest.raises(IrError, match="no parameter %u"):
            run({"u": x})
        with pytest.raises(IrError, match=r"no input is given for %t of @main"):
            run({})
        with pytest.raises(IrError, match="a sequence or a dictionary, not ndarray"):
            run(x)
        assert run([(x, [1, True])])[1] == (1, True)


def test_dynamic_shapes_take_inputs_by_the_same_rule() -> None:
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 3), float32]) { copy(%x) }\n')
    library = irtool.build(module, mcpu="none", vector=False, cflags="-O0")
    for run in (lambda v: irtool.evaluate(module, v), library.run):
        with pytest.raises(IrError, match=r"%x is Tensor\[\(\?, 3\), float32\], but its value is float64\[2, 3\]"):
            run([np.zeros((2, 3))])
        with pytest.raises(IrError, match="axis 1 is 3 and 4"):
            run([np.zeros((2, 4), "float32")])
        with pytest.warns(ConversionWarning):
            assert run([np.ones((2, 3), ">f2")]).dtype == "float32"
