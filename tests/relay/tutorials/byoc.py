"""Marks what an accelerator takes, and partitions the network by it."""

from irtool import relay
from irtool.relay import tvm
from irtool.relay.dataflow_pattern import is_op, wildcard

data = relay.var("data", shape=(1, 3, 16, 16))
weight = relay.var("weight", shape=(8, 3, 3, 3))
bias = relay.var("bias", shape=(8,))
conv = relay.nn.conv2d(data, weight, channels=8, kernel_size=(3, 3))
out = relay.nn.relu(relay.nn.bias_add(conv, bias))
mod = tvm.IRModule.from_expr(relay.Function([data, weight, bias], out))


def make_pattern():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()))


pattern_table = [("npu.conv2d_bias_relu", make_pattern())]
mod = relay.transform.InferType()(mod)
mod = relay.transform.MergeComposite(pattern_table)(mod)
mod = relay.transform.AnnotateTarget("npu")(mod)
mod = relay.transform.MergeCompilerRegions()(mod)
mod = relay.transform.PartitionGraph()(mod)
marked = [gv.name_hint for gv in mod.get_global_vars() if mod[gv].attrs.get("Compiler") == "npu"]
assert len(marked) == 1
