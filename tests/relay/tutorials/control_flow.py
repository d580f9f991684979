"""A sum by recursion, with ScopeBuilder, run by an executor."""

import numpy as np

from irtool import relay
from irtool.relay import tvm

mod = tvm.IRModule({})
sum_up = relay.GlobalVar("sum_up")
i = relay.var("i", shape=[], dtype="int32")
accum = relay.var("accum", shape=[], dtype="int32")
sb = relay.ScopeBuilder()
with sb.if_scope(relay.equal(i, relay.const(0, "int32"))):
    sb.ret(accum)
with sb.else_scope():
    one_less = relay.subtract(i, relay.const(1, "int32"))
    new_accum = relay.add(accum, i)
    sb.ret(relay.Call(sum_up, [one_less, new_accum]))
func = relay.Function([i, accum], sb.get(), ret_type=relay.TensorType([], "int32"))
mod = mod.with_function("sum_up", func)  # TVM: mod[sum_up] = func
mod = relay.transform.InferType()(mod)
i_data, accum_data = np.array(10, dtype="int32"), np.array(0, dtype="int32")
i1 = relay.var("i1", shape=[], dtype="int32")
a1 = relay.var("a1", shape=[], dtype="int32")
mod = mod.with_function(
    "main", relay.Function([i1, a1], sum_up(i1, a1))
)  # TVM: mod["main"] = relay.Function([i1, a1], sum_up(i1, a1))
result = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(i_data, accum_data)
assert result.numpy() == 55
