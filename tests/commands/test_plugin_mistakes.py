"""Mistakes in plug-ins are said to be the plug-in's, with the place, and end with code 1: never a bug of irtool."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from irtool.cli import run
from irtool.plugin.loading import plugins_kept

ROOT = Path(__file__).parent.parent.parent
HEAD = """
from dataclasses import dataclass
from irtool import te
from irtool.ir import Function, Var
from irtool.ops import Operator, RelationError, operator
from irtool.passes import Composite, FunctionPass, ModulePass, PassInstrument, register_instrument, register_pass
"""
OPERATOR = '@operator("my.op", "x")\n@dataclass(frozen=True)\nclass Mine(Operator):\n    """Mine."""\n'
RELATE = "    def relate(self, types, reporter):\n        return types[0]\n"
PASS = '@register_pass("Mine")\n@dataclass(frozen=True)\nclass Mine(FunctionPass):\n    """Mine."""\n'
TRANSFORM = "    def transform(self, function, module, context):\n"
NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4), float32]) { my.op(%x) }\n'
RELU = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4), float32]) { nn.relu(%x) }\n'


def irtool(folder: Path, *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and messages of a command that leaves nothing registered."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), plugins_kept():
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return code, out.getvalue(), err.getvalue()


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


CASES = {
    "operator that is no dataclass": (
        '@operator("my.op", "x")\nclass Mine(Operator):\n' + RELATE,
        "check",
        "operator my.op: the class is no dataclass",
        "class Mine",
    ),
    "operator that is not frozen": (
        '@operator("my.op", "x")\n@dataclass\nclass Mine(Operator):\n' + RELATE,
        "check",
        "operator my.op: the dataclass is not frozen",
        "class Mine",
    ),
    "decorators in the wrong order": (
        '@dataclass(frozen=True)\n@operator("my.op", "x")\nclass Mine(Operator):\n' + RELATE,
        "check",
        "the class is no dataclass\nhelp: write @dataclass(frozen=True) below @operator(…)",
        "class Mine",
    ),
    "class that is no operator": (
        '@operator("my.op", "x")\n@dataclass(frozen=True)\nclass Mine:\n    pass\n',
        "check",
        "operator my.op: the class is no operator",
        None,
    ),
    "no relate": (OPERATOR, "check", "operator my.op: the operator has no type rule", "class Mine"),
    "relate gives nonsense": (
        OPERATOR + "    def relate(self, types, reporter):\n        return 'float32'\n",
        "check",
        "operator my.op: relate returned an object of class str, not a type",
        "class Mine",
    ),
    "relate raises": (
        OPERATOR + "    def relate(self, types, reporter):\n        return types[7]\n",
        "check",
        "operator my.op: IndexError: list index out of range",
        "return types[7]",
    ),
    "no evaluate": (
        OPERATOR + RELATE,
        "run",
        "my.op has no reference (its class, mine.py:9, defines no evaluate)",
        None,
    ),
    "evaluate raises": (
        OPERATOR + RELATE + "    def evaluate(self, x):\n        return x.shapes\n",
        "run",
        "operator my.op: AttributeError: 'numpy.ndarray' object has no attribute 'shapes'",
        "return x.shapes",
    ),
    "evaluate gives another shape": (
        OPERATOR + RELATE + "    def evaluate(self, x):\n        return x[0]\n",
        "run",
        "evaluate returned float32[4] where the type is Tensor[(3, 4), float32]",
        "class Mine",
    ),
    "evaluate gives another dtype": (
        OPERATOR + RELATE + "    def evaluate(self, x):\n        return x.astype('float64')\n",
        "run",
        "evaluate returned float64[3, 4] where the type is Tensor[(3, 4), float32]",
        "class Mine",
    ),
    "evaluate forgets to return": (
        OPERATOR + RELATE + "    def evaluate(self, x):\n        x + 1\n",
        "run",
        "evaluate returned None, not an array",
        "class Mine",
    ),
    "no compute": (
        OPERATOR + RELATE,
        "build",
        "my.op cannot be compiled to C (its class, mine.py:9, defines no compute)",
        None,
    ),
    "compute raises": (
        OPERATOR + RELATE + "    def compute(self, inputs, out_type):\n        return 1 / 0\n",
        "build",
        "operator my.op: ZeroDivisionError: division by zero",
        "return 1 / 0",
    ),
    "compute gives another shape": (
        OPERATOR + RELATE + "    def compute(self, inputs, out_type):\n"
        "        return te.compute((2,), lambda i: inputs[0][i, 0])\n",
        "build",
        "compute returned Tensor[(2), float32] where the type is Tensor[(3, 4), float32]",
        "class Mine",
    ),
    "pass that is no dataclass": (
        '@register_pass("Mine")\nclass Mine(FunctionPass):\n' + TRANSFORM + "        return function\n",
        "opt",
        "pass Mine: the class is no dataclass",
        "class Mine",
    ),
    "pass that forgets to return": (
        PASS + TRANSFORM + "        function\n",
        "opt",
        "pass Mine: transform returned None, not a Function for @main",
        "def transform",
    ),
    "pass that raises": (
        PASS + TRANSFORM + "        return deeper(0)\ndef deeper(x):\n    return 1 / x\n",
        "opt",
        "pass Mine: ZeroDivisionError: division by zero",
        "return 1 / x",
    ),
    "pass that breaks the module": (
        PASS + TRANSFORM + "        return Function(function.params, Var('y'))\n",
        "opt",
        "note: the module no longer type-checks after pass Mine",
        "class Mine",
    ),
    "sequence of no passes": (
        '@register_pass("Mine")\n@dataclass(frozen=True)\nclass Mine(Composite):\n    """Mine."""\n'
        "    def passes(self):\n        return ['FuseOps']\n",
        "opt",
        "pass Mine: passes returned something else than a list of passes",
        "class Mine",
    ),
    "annotation that means nothing": (
        "from __future__ import annotations\n" + HEAD + PASS + "    x: Whole = 1\n",
        "opt",
        "pass Mine: NameError: name 'Whole' is not defined",
        "class Mine",
    ),
    "instrument that raises": (
        '@register_instrument("Mine")\n@dataclass\nclass Mine(PassInstrument):\n'
        "    def run_after_pass(self, module, info):\n        raise KeyError(info.name)\n",
        "watch",
        "KeyError: 'InferType'",
        "raise KeyError",
    ),
    "instrument that does not decide": (
        '@register_instrument("Mine")\n@dataclass\nclass Mine(PassInstrument):\n'
        "    def should_run(self, module, info):\n        info.name != 'FuseOps'\n",
        "watch",
        "instrument Mine: should_run returned None, not True or False",
        "class Mine",
    ),
    "syntax": ("x = = 1\n", "check", "SyntaxError: invalid syntax", "x = = 1"),
    "missing module": ("import not_there\n", "check", "No module named 'not_there'", "import not_there"),
    "a name that is irtool's": (
        OPERATOR.replace("my.op", "nn.relu") + RELATE,
        "check",
        "the name nn.relu is taken by irtool's own operator",
        "class Mine",
    ),
    "an alias that is irtool's": (
        PASS.replace('"Mine")', '"Mine", info_name="FuseOps")') + TRANSFORM + "        return function\n",
        "check",
        "the name FuseOps is taken by irtool's own pass",
        "class Mine",
    ),
    "a name twice in a file": (
        OPERATOR + RELATE + OPERATOR.replace("class Mine", "class Other") + RELATE,
        "check",
        "the name my.op is taken by the operator of mine.py:9",
        "class Other",
    ),
}
COMMANDS = {
    "check": ["check", "net.relay"],
    "run": ["run", "net.relay"],
    "build": ["build", "--no-cache", "--emit=c", "-o", "out", "net.relay"],
    "opt": ["opt", "-p", "Mine", "relu.relay"],
    "watch": ["opt", "-p", "FuseOps", "--instrument", "Mine", "relu.relay"],
}


@pytest.mark.promise("plug-ins")
@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_the_plug_ins_own(case: str, tmp_path: Path) -> None:
    body, command, message, marker = CASES[case]
    text = body if "import annotations" in body else HEAD + body
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "relu.relay").write_text(RELU)
    code, _, err = irtool(tmp_path, *COMMANDS[command], "--load", "mine.py")
    assert code == 1, err
    assert message in err
    assert "bug in irtool" not in err
    assert "reproduces" not in err
    if marker is not None:
        line = line_of(text, marker)
        # A class stands at its line, or at that of its first decorator.
        places = [f"mine.py:{n}" for n in (range(line - 2, line + 1) if marker.startswith("class") else (line,))]
        assert any(place in err for place in places), err


@pytest.mark.promise("plug-ins")
def test_an_override_is_on_purpose_and_visible(tmp_path: Path) -> None:
    body = OPERATOR.replace('"my.op", "x"', '"nn.relu", "data", override=True')
    (tmp_path / "mine.py").write_text(HEAD + body + RELATE + "    def evaluate(self, x):\n        return x * 0 + 7\n")
    (tmp_path / "relu.relay").write_text(RELU)
    code, out, _ = irtool(tmp_path, "run", "--load", "mine.py", "relu.relay")
    assert (code, out) == (0, "out0: float32[3, 4]  7 7 7 7 7 7 7 7 …\n")
    code, out, _ = irtool(tmp_path, "ops", "--load", "mine.py", "nn.relu")
    assert "a plug-in, mine.py:9, in the place of irtool's own operator" in out
    assert "7 7 7" not in irtool(tmp_path, "run", "relu.relay")[1]  # what is loaded for one command ends with it


@pytest.mark.promise("plug-ins")
def test_neighbours_reruns_and_other_files(tmp_path: Path) -> None:
    import irtool as api

    (tmp_path / "neighbour_of_mine.py").write_text("FACTOR = 2\n")
    body = "from __future__ import annotations\n" + HEAD + "import neighbour_of_mine\n" + OPERATOR + RELATE
    mine = tmp_path / "mine.py"
    mine.write_text(body + "    def evaluate(self, x):\n        return x * neighbour_of_mine.FACTOR\n")
    with plugins_kept():
        api.load_plugins(mine)
        module = api.parse(NET)
        x = api.evaluate(module, [__import__("numpy").ones((3, 4), "float32")])
        assert x[0, 0] == 2
        mine.write_text(body + "    def evaluate(self, x):\n        return x * 3\n")
        api.load_plugins(mine)  # the file again: its classes take the place of their former selves
        x = api.evaluate(api.parse(NET), [x])
        assert x[0, 0] == 6
        (tmp_path / "other.py").write_text(mine.read_text())
        with pytest.raises(api.IrError, match=r"the name my\.op is taken by the operator of"):
            api.load_plugins(tmp_path / "other.py")
        assert api.evaluate(api.parse(NET), [x])[0, 0] == 18
    with pytest.raises(api.IrError, match=r"unknown operator my\.op"):
        api.parse(NET)


@pytest.mark.promise("plug-ins")
def test_a_reproducer_of_a_wrong_pass_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + PASS + TRANSFORM + "        return 1 / 0\n")
    (tmp_path / "relu.relay").write_text(RELU)
    code, _, _ = irtool(tmp_path, *COMMANDS["opt"], "--load", "mine.py", "--reproducer", "r.relay")
    assert code == 1
    assert (tmp_path / "r.relay").read_text().startswith("// RUN: irtool opt --passes=Mine --load=mine.py")


@pytest.mark.promise("plug-ins")
def test_a_build_from_the_cache_knows_its_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(NET)
    sources = []
    for factor in ("2", "3", "2"):
        (tmp_path / "mine.py").write_text(
            HEAD
            + OPERATOR
            + RELATE
            + "    def compute(self, inputs, out_type):\n"
            + f"        return te.compute(out_type.shape, lambda *i: inputs[0][i] * {factor}, tag='elemwise')\n"
        )
        words = ["build", "--emit=c", "--vector=none", "-o", "out", "net.relay", "--load", "mine.py"]
        code, _, err = irtool(tmp_path, *words)
        assert code == 0, err
        sources.append((tmp_path / "out" / "net.c").read_text())
    assert sources[0] != sources[1]
    assert sources[0] == sources[2]
    assert len(list((tmp_path / "cache" / "irtool" / "builds").iterdir())) == 2


@pytest.mark.promise("plug-ins")
def test_a_cell_that_is_run_again_replaces_what_it_defined(tmp_path: Path) -> None:
    cell = HEAD + OPERATOR + RELATE + "    def evaluate(self, x):\n        return x * {0}\n"
    program = (
        "import irtool, numpy\ncell = " + repr(cell) + "\n"
        "for name, factor in (('Mine', '2'), ('Mine', '3'), ('Renamed', '4')):\n"
        "    exec(cell.replace('{0}', factor).replace('Mine', name))\n"
        f"    module = irtool.parse({NET!r})\n"
        "    print(irtool.evaluate(module, [numpy.ones((3, 4), 'float32')])[0, 0])\n"
    )
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("2.0\n3.0\n4.0\n", "")


@pytest.mark.promise("plug-ins")
def test_passes_that_have_no_text_are_not_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import irtool as api
    from irtool.passes import function_pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran = []

    @function_pass(opt_level=0)
    def watch(function, module, context):
        ran.append(function)
        return function

    for _ in range(2):
        api.build(api.parse(RELU), emit="c", cache=True, passes=[watch])
    assert len(ran) == 2


STRATEGY = """
from irtool.schedule import Block, Candidate, Strategy, lower, strategy


@strategy("mine")
class Mine(Strategy):
    plevel = 30

    def choose(self, stage):
        return Candidate(1.0, "mine")

    def apply(self, stage, candidate):
        return lower(Block.of(stage.form))
"""
BACKEND = """
from dataclasses import dataclass
from irtool.backends.base import Backend, Sources, backend


@backend("mine")
@dataclass(frozen=True)
class Mine(Backend):
    emits = ("text",)

    def emit(self, program, request):
        return Sources({})
"""
CHANGES = {
    "strategy without apply": (STRATEGY, "def apply", "def supply", "mine: the strategy has no apply"),
    "strategy of no class": (STRATEGY, "(Strategy)", "", "mine: the class is no strategy"),
    "strategy that offers a number": (
        STRATEGY,
        'Candidate(1.0, "mine")',
        "1.0",
        "mine: choose returned an object of class float, not a Candidate or None",
    ),
    "strategy of unclear cost": (
        STRATEGY,
        "(1.0",
        '("1"',
        "mine: choose offered a cost that is an object of class str",
    ),
    "strategy that makes nothing": (STRATEGY, "return lower", "lower", "mine: apply returned None, not a statement"),
    "strategy that fails": (STRATEGY, "Candidate(", "Kandidate(", "mine: NameError: name 'Kandidate' is not defined"),
    "backend without outputs": (BACKEND, 'emits = ("text",)', "", "backend mine: the backend has no outputs"),
    "backend of no class": (BACKEND, "(Backend)", "", "backend mine: the class is no backend"),
    "backend without emit": (BACKEND, "def emit", "def write", "backend mine: the backend has no emit"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_mistakes_of_strategies_and_backends(tmp_path: Path, case: str) -> None:
    source, original, instead, message = CHANGES[case]
    assert source.count(original) == 1
    (tmp_path / "own.py").write_text(source.replace(original, instead))
    (tmp_path / "net.relay").write_text(RELU)
    target = [] if source is STRATEGY else ["--target=mine"]
    code, _, err = irtool(tmp_path, "build", "--load=own.py", *target, "--emit=tir", "--no-cache", "net.relay")
    assert code == 1
    assert message in err
    assert "own.py:" in err
