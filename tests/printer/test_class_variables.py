"""Variables of an operator's class are no attributes of its calls."""

import irtool
from irtool.ir.attributes import described
from irtool.ops.base import operators


def test_facts_of_a_class_are_not_printed_or_hashed() -> None:
    for name in ("annotation.compiler_begin", "nn.conv2d"):
        cls = operators.get(name)
        attrs = cls(**{"compiler": "A"} if "compiler" in name else {})
        assert [n for n, _ in described(attrs)] == [f.name for f in cls.fields() if "since" not in f.metadata], name
    text = 'def @main(%x: Tensor[(4), float32]) { annotation.compiler_begin(%x, compiler="A") }'
    assert "layout_rule" not in irtool.to_text(irtool.parse(text))
