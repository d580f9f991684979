"""One call lowered by hand: the tensor expression behind it, a schedule made of primitives, and the loop nest that comes of it."""

import irtool
from irtool import relay, te


def main():
    x_te = te.placeholder((4, 2), name="x_te")
    x = relay.var("x", shape=(4, 2))
    mod = irtool.IRModule.from_expr(relay.nn.relu(x))
    mod = relay.transform.InferType()(mod)

    target = irtool.Target("cuda -arch=sm_75")
    lowered = irtool.lower_call(mod["main"].body, [x_te], target)
    print(lowered.outputs)
    print(lowered)

    s = irtool.create_schedule(lowered)
    s["T_relu"].fuse("ax0", "ax1", "i").split("i", [2, 4], ["outer", "inner"]).vectorize("inner")
    nest = s.lower()
    print(nest)
    print(irtool.to_text(nest))
    return lowered, nest


if __name__ == "__main__":
    main()
