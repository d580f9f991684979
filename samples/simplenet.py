"""A network of a convolution, a batch normalisation and a ReLU, built node by node, compiled with its weights and run."""

import numpy as np

import irtool
from irtool import relay


def conv_bn_relu(data, name, channels, kernel_size=(3, 3), strides=(1, 1), padding=(1, 1), epsilon=1e-5):
    weight = relay.var(f"{name}_conv_weight")
    conv = relay.nn.conv2d(
        data, weight, strides=strides, padding=padding, channels=channels, kernel_size=kernel_size, data_layout="NCHW"
    )
    statistics = [relay.var(f"{name}_bn_{s}") for s in ("gamma", "beta", "moving_mean", "moving_var")]
    normalised = relay.nn.batch_norm(conv, *statistics, epsilon=epsilon)[0]
    return relay.nn.relu(data=normalised)


def main():
    data = relay.var("data", shape=(1, 3, 224, 224), dtype="float32")
    act = conv_bn_relu(data, "graph", 32, strides=(2, 2))
    func = relay.Function(relay.analysis.free_vars(act), act)
    print(irtool.to_text(func, types="none"))

    rng = np.random.default_rng(0)
    params = {"graph_conv_weight": rng.uniform(-1, 1, (32, 3, 3, 3)).astype("float32")}
    for statistic in ("gamma", "beta", "moving_mean", "moving_var"):
        params[f"graph_bn_{statistic}"] = rng.uniform(0.1, 1, 32).astype("float32")

    with irtool.PassContext(opt_level=3):
        lib = irtool.build(func, params, "llvm")

    image = rng.uniform(-1, 1, (1, 3, 224, 224)).astype("float32")
    output = lib.run({"data": image})
    print(output.shape, output.dtype)
    return func, params, image, output


if __name__ == "__main__":
    main()
