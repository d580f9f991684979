"""One call lowered by hand: the tensor expression behind it, and the loop nest that computes it."""

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

    nest = lowered.nest("main")
    print(irtool.to_text(nest))
    return lowered, nest


if __name__ == "__main__":
    main()
