"""A kernel's parameters are the buffers that it reads or writes, whatever tuples the function around it was handed."""

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.infer import infer_types
from irtool.ir import Function, TensorType
from irtool.lower import lower_module
from irtool.lower.fields import Field, take_fields
from irtool.tir.forms import buffers_read
from irtool.tir.program import Program, RunKernel, steps
from tests.nests import run_program

VERSION = '#[version = "0.0.5"]\n'
T = "Tensor[(1, 2), float32]"


def split(n: int, line: str) -> str:
    """A split of `x` into `n` parts, each of which `line` computes something of."""
    body = "".join(f"  %{2 * i + 1} = %0.{i};\n  %{2 * i + 2} = {line.format(f'%{2 * i + 1}')};\n" for i in range(n))
    results = ", ".join(f"%{2 * i + 2}" for i in range(n))
    parts = f"split(%x, indices_or_sections={n}, axis=0)"
    return f"def @main(%x: Tensor[({n}, 2), float32]) {{\n  %0 = {parts};\n{body}  ({results},)\n}}\n"


def lowered(text: str) -> Program:
    return lower_module(prepare(irtool.parse(VERSION + text), opt_level=3), ["main"])


def function(text: str) -> Function:
    f = infer_types(irtool.parse(VERSION + text))["main"]
    assert isinstance(f, Function)
    return f


PROGRAMS = {
    "a split": split(5, "tanh({})"),
    "sums of fields": f"def @main(%p: ({T}, {T}, {T})) {{ add(tanh(%p.2), %p.0) }}",
    "fields of fields": f"def @main(%p: (({T}, {T}), {T})) {{ %0 = %p.0; add(exp(%0.1), %p.1) }}",
    "a field and its tuple": f"def @main(%p: (({T}, {T}), {T})) {{ %0 = %p.0; add(concatenate(%0), %0.1) }}",
    "a shape alone": f"def @main(%x: {T}, %y: {T}) {{ add(%x, zeros_like(%y)) }}",
    "a tuple that is concatenated": f"def @main(%p: ({T}, {T})) {{ exp(concatenate(%p, axis=1)) }}",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_takes_what_it_reads(name: str) -> None:
    program = lowered(PROGRAMS[name])
    runs = [s for f in program.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)]
    assert runs
    for s in runs:
        assert set(s.kernel.inputs) == buffers_read(*s.kernel.stages) & set(s.kernel.inputs)
        handed = [(x.size, x.dtype) for x in (*s.inputs, *s.outputs)]
        assert handed == [(b.size, b.dtype) for b in s.kernel.params]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_the_same(name: str) -> None:
    rng = np.random.default_rng(7)
    module = infer_types(irtool.parse(VERSION + PROGRAMS[name]))
    main = module["main"]
    assert isinstance(main, Function)

    def values(t: object) -> object:
        if isinstance(t, TensorType):
            return rng.standard_normal(t.static_shape).astype(t.dtype)
        return tuple(map(values, t.fields))  # type: ignore[attr-defined]  # a tensor or a tuple

    arguments = {p.name: values(p.checked_type) for p in main.params}
    results = flat(irtool.evaluate(module, arguments))
    slots = [a for p in main.params for a in flat(arguments[p.name])]
    for got, expected in zip(run_program(lowered(PROGRAMS[name]), slots), results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def flat(value: object) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [a for v in value for a in flat(v)]
    return [np.asarray(value)]


def test_functions_of_different_fields_share_a_kernel() -> None:
    program = lowered(split(40, "tanh({})"))
    assert len(program.kernels) == 2
    assert len(program.kernels[1].params) == 2


def test_a_function_takes_fields() -> None:
    f = function(f"def @main(%p: ({T}, ({T}, {T})), %y: {T}) {{ %0 = %p.1; (exp(%0.1), %p.0, %0.1) }}")
    taken, fields = take_fields(f)
    assert fields == [Field(0, (0,)), Field(0, (1, 1))]
    assert [p.name for p in taken.params] == ["p_0", "p_1_1"]
    assert taken.body.checked_type == f.body.checked_type


def test_a_tuple_that_is_used_whole_stays_whole() -> None:
    f = function(f"def @main(%p: (({T}, {T}), {T})) {{ %0 = %p.0; (concatenate(%0), %0.1) }}")
    taken, fields = take_fields(f)
    assert fields == [Field(0, (0,))]
    assert [p.name for p in taken.params] == ["p_0"]


def test_a_function_that_uses_all_is_the_same_object() -> None:
    f = function(f"def @main(%x: {T}, %p: ({T}, {T})) {{ (%x, concatenate(%p)) }}")
    assert take_fields(f) == (f, [Field(0), Field(1)])
