"""Counts operators and changes them, by visitor and mutator."""

from irtool import relay
from irtool.relay import tvm


class OpCounter(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def visit_call(self, call):
        self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1
        super().visit_call(call)


class Relu6(relay.ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        if call.op.name == "nn.relu":
            return relay.clip(new.args[0], 0.0, 6.0)
        return new


x = relay.var("x", shape=(1, 3, 8, 8))
w = relay.var("w", shape=(4, 3, 3, 3))
y = relay.nn.relu(relay.nn.conv2d(x, w, strides=(2, 2), padding=(1, 1)))
z = relay.add(y, y)
func = relay.Function([x, w], z)
counter = OpCounter()
counter.visit(func)
assert counter.counts == {"add": 1, "nn.relu": 1, "nn.conv2d": 1}
assert [int(s) for s in y.args[0].attrs["strides"]] == [2, 2]
new = Relu6().visit(func)
new = new.with_attr("global_symbol", "clipped")
assert [p.name_hint for p in new.params] == ["x", "w"]
assert new.body.args[0].same_as(new.body.args[1])
mod = tvm.IRModule.from_expr(new)
assert "clip" in mod.astext()
