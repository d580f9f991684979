"""A perceptron of two layers: its module, and a build at level 4 in a context."""

import numpy as np

import irtool
from irtool import relay


def layer(x, name, inputs, outputs):
    weight = relay.var(f"weight{name}", relay.TensorType((inputs, outputs), "float32"))
    bias = relay.var(f"b{name}", relay.TensorType((outputs,), "float32"))
    return relay.nn.matmul(x, weight) + bias, [weight, bias]


def main():
    x = relay.var("x", relay.TensorType((1, 784), "float32"))
    hidden, first = layer(x, "1", 784, 128)
    scores, second = layer(relay.nn.relu(hidden), "2", 128, 10)
    mod = irtool.IRModule.from_expr(relay.Function([x, *first, *second], scores))
    print("source module:")
    print(mod)

    with irtool.PassContext(opt_level=4):
        lib = irtool.build(mod, target="c")

    rng = np.random.default_rng(0)
    inputs = {t["name"]: rng.uniform(-1, 1, t["shape"]).astype(t["dtype"]) for t in lib.inputs}
    output = lib.run(inputs)
    print(output.shape, output.dtype)
    return mod, inputs, output


if __name__ == "__main__":
    main()
