"""A layer of weights and a bias, with a helper that makes it, evaluated by an executor."""

import numpy as np

from irtool import relay
from irtool.relay import tvm


def layer(layer_name, input_dim, output_dim, adj, input, activation=None):
    weight = relay.var(layer_name + ".weight", shape=(input_dim, output_dim))
    weight_t = relay.transpose(weight)
    dense = relay.nn.dense(weight_t, input)
    output = relay.nn.dense(dense, adj)
    output_t = relay.transpose(output)
    bias = relay.var(layer_name + ".bias", shape=(output_dim,))
    output_t = relay.nn.bias_add(output_t, bias, axis=-1)
    if activation is not None:
        output_t = activation(output_t)
    return output_t


infeats = relay.var("infeats", shape=(5, 4))
adj = relay.Constant(tvm.nd.array(np.eye(5, dtype="float32")))
output = layer("layer", 4, 3, adj, infeats, relay.nn.relu)
func = relay.Function(relay.analysis.free_vars(output), output)
params = {"layer.weight": np.ones((4, 3), "float32"), "layer.bias": np.zeros(3, "float32")}
func = relay.build_module.bind_params_by_name(func, params)
mod = tvm.IRModule()
mod = mod.with_function("main", func)  # TVM: mod["main"] = func
mod = relay.transform.InferType()(mod)
assert mod["main"].checked_type.ret_type.shape == (5, 3)
result = relay.create_executor("graph", mod, tvm.cpu(), "c").evaluate()(np.ones((5, 4), "float32"))
tvm.testing.assert_allclose(result.numpy(), np.full((5, 3), 4.0))
