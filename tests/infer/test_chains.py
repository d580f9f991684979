"""Counted work of inference on chains: it grows as the text does, whatever the machine does meanwhile."""

import cProfile
import pstats
from functools import partial
from itertools import pairwise

import pytest

import irtool
from irtool.infer.exhaustive import show_pattern, unmatched_cases
from irtool.ir import Match, Module, PatternConstructor, PatternWildcard, post_order

V = '#[version = "0.0.5"]\n'


def _calls(work: object) -> int:
    profile = cProfile.Profile()
    profile.runcall(work)  # type: ignore[arg-type]
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.promise("growth")
def test_finding_what_a_chain_of_joined_types_stands_for_shortens_the_whole_chain():
    from irtool.infer.solver import Solver
    from irtool.ir import TensorType

    solver = Solver()
    chain = [TensorType((4,)) for _ in range(1000)]
    for a, b in pairwise(chain):
        solver._move(a, b)
    assert solver.find(chain[0]) is chain[-1]
    assert all(solver._joined[id(t)][1] is chain[-1] for t in chain[:-1])


@pytest.mark.promise("growth")
def test_a_pattern_nested_deeply_is_checked_for_cases_in_as_many_steps():
    def match_of(n: int) -> tuple[Match, Module]:
        pattern = "S(" * n + "%y" + ")" * n
        text = V + f"type N {{ S(N), Z, }}\ndef @main(%x: N) {{ match? (%x) {{ {pattern} => {{ %y }} }} }}\n"
        module = irtool.parse(text)
        return next(e for e in post_order(module["main"]) if isinstance(e, Match)), module

    small, large = (_calls(partial(unmatched_cases, *match_of(n), most=1)) for n in (50, 400))
    assert large < small * 10
    match, module = match_of(2)
    assert [show_pattern(p) for p in unmatched_cases(match, module)] == ["Z", "S(Z)"]
    assert [show_pattern(p) for p in unmatched_cases(match, module, most=1)] == ["Z"]
    deep = unmatched_cases(match_of(3)[0], module)[-1]
    assert isinstance(deep, PatternConstructor) and not isinstance(deep.patterns[0], PatternWildcard)
