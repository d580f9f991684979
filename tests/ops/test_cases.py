"""The cases of every operator: types, values and refusals are what the lines say; lines of another form are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.diagnostics import IrError
from irtool.driver.operator_cases import problem_of
from irtool.ops import operators
from irtool.ops.cases import Case, Range, bounds_of, cases_of, read_case

pytestmark = pytest.mark.promise("operator cases")

ROOT = Path(__file__).parents[2]
CASES = [case for cls in operators for case in cases_of(cls)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.place} {case.operator}")
def test_the_operator_does_what_the_case_says(case: Case) -> None:
    assert problem_of(case) == ""


def test_every_line_of_every_file_is_a_case_of_its_module() -> None:
    lines = {
        f"{path.name}:{n}"
        for path in sorted((ROOT / "irtool" / "ops").rglob("*.cases"))
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line and not line.startswith(("#", "within "))
    }
    assert lines == {case.place for case in CASES}


def test_every_name_of_a_bound_is_an_operator_of_its_module() -> None:
    for path in sorted((ROOT / "irtool" / "ops").rglob("*.cases")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for name in line.partition(": ")[2].split() if line.startswith("within ") else ():
                assert bounds_of(operators.get(name)), f"{path.name}: {name}"


def test_lines_of_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "family.cases"
    monkeypatch.setattr("irtool.ops.cases._family", lambda cls: path)
    path.write_text("within 4 units: exp tanh\nwithin 2.5 units of float16 float64: exp\n%x: float32 | exp(%x)\n")
    assert bounds_of(operators.get("exp")) == {"float16": 2.5, "bfloat16": 4, "float32": 4, "float64": 2.5}
    assert bounds_of(operators.get("erf")) == {} and len(cases_of(operators.get("exp"))) == 1
    for wrong in ("within 4 units exp", "within 4 units of int8: exp", "within x units: exp"):
        other = tmp_path / f"{len(wrong)}.cases"
        other.write_text(f"# a remark\n{wrong}\n")
        monkeypatch.setattr("irtool.ops.cases._family", lambda cls, other=other: other)
        with pytest.raises(IrError, match="cases:2: a bound is written as within N units of DTYPES: NAMES"):
            bounds_of(operators.get("exp"))


def read(line: str) -> Case:
    return read_case(line, "here")


def test_what_a_line_says() -> None:
    case = read(
        "%x: Tensor[(2, 3), int8] = -4..3, %i: Tensor[(2), int32] = [1, 0] | take(%x, %i, axis=0) -> T == [[1]]"
    )
    assert case.operator == "take"
    assert case.parameters == (("x", "Tensor[(2, 3), int8]", Range(-4, 3)), ("i", "Tensor[(2), int32]", [1, 0]))
    assert (case.body, case.type, case.value, case.refusal) == ("take(%x, %i, axis=0)", "T", [[1]], ())
    assert read("%x: float32 | %0 = (%x, %x); stack(%0, axis=0)").operator == "stack"
    assert read('| ones(shape=[2], dtype="int8") ! no; never').refusal == ("no", "never")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nn.relu(%x)", "PARAMETERS | CALL"),
        ("%x: Tensor[(2), int8] | %x", "PARAMETERS | CALL"),
        ("x: Tensor[(2), int8] | nn.relu(%x)", "a parameter is written as %NAME: TYPE"),
        ("%x: Tensor[(2), int8] = much | nn.relu(%x)", "'much' is neither a value in JSON's form nor a range"),
    ],
)
def test_lines_of_another_form(line: str, words: str) -> None:
    with pytest.raises(IrError) as caught:
        read(line)
    assert "here" in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("%x: Tensor[(3), int8] = [-1, 0, 2] | nn.relu(%x) == [0, 0, 3]", "it gives [0, 0, 2]"),
        ("%x: Tensor[(3), int8] | nn.relu(%x) -> Tensor[(2), int8]", "its type is Tensor[(3), int8]"),
        ("%x: Tensor[(3), int8] | nn.relu(%x) ! not at all", "it is accepted"),
        ("%x: Tensor[(3), int8] | reshape(%x, newshape=[2])", "it is refused: "),
        ("%x: Tensor[(3), int8] | reshape(%x, newshape=[2]) ! blue", "the error does not say blue: "),
        ("%x: Tensor[(3), int8] = [1, 2, 3] | nn.relu(%x) -> Tensor[(3), int8] == [1, 2, 3]", ""),
        ("%x: Tensor[(3), int8] | reshape(%x, newshape=[2]) ! (3); 2", ""),
        ("%x: Tensor[(2, 2), int8] = [[1, 2], [3, 4]] | split(%x, indices_or_sections=2) == [[[1, 2]], [[3, 4]]]", ""),
    ],
)
def test_problems_are_found(line: str, problem: str) -> None:
    message = problem_of(read(line))
    assert message.startswith(problem) and bool(message) == bool(problem)


def test_a_value_of_another_shape() -> None:
    with pytest.raises(IrError, match=r"has the shape \(3,\), but its value has the shape \(2,\)"):
        problem_of(read("%x: Tensor[(3), int8] = [1, 2] | nn.relu(%x)"))
