"""Every operator of TVM's catalogue is here, with its arguments, attributes, pattern, level and statefulness."""

import json
import pathlib

import pytest

from irtool.ops import Operator, Pattern, operators

CATALOGUE = pathlib.Path(__file__).parents[3] / "shared" / "catalogue" / "ops.json"
OPERATORS = json.loads(CATALOGUE.read_text()) if CATALOGUE.exists() else []
PATTERNS = {
    None: None,
    "ElemWise": Pattern.ELEMWISE,
    "Broadcast": Pattern.BROADCAST,
    "Injective": Pattern.INJECTIVE,
    "CommReduce": Pattern.COMM_REDUCE,
    "OutEWiseFusable": Pattern.OUT_ELEMWISE_FUSABLE,
    "Opaque": Pattern.OPAQUE,
}
pytestmark = pytest.mark.skipif(not OPERATORS, reason="the catalogue is not here")


@pytest.mark.parametrize("entry", OPERATORS, ids=lambda e: e["name"])
def test_operator_is_that_of_the_catalogue(entry):
    cls = operators.get(entry["name"])
    assert list(cls.arguments) == entry["arguments"]
    assert cls.pattern == PATTERNS[entry["pattern"]]
    assert (cls.support_level, cls.stateful) == (entry["support_level"], entry["stateful"])
    if cls.declares_attrs:
        assert cls.attrs_name == (entry["attrs"] or "")


@pytest.mark.parametrize("entry", OPERATORS, ids=lambda e: e["name"])
def test_operator_has_a_rule_and_a_reference(entry):
    cls = operators.get(entry["name"])
    assert cls.relate is not Operator.relate
    assert cls.vendor or cls.evaluate is not Operator.evaluate
    assert cls.manual() and not cls.manual().startswith(f"{cls.__name__}(")
