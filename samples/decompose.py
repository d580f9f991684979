"""DecomposeOpsForInference on a whole module, on one function of it, and in a sequence with other passes."""

import irtool
from irtool import relay
from irtool.passes import Sequential


def network():
    x = relay.var("x", shape=(1, 4, 8, 8))
    statistics = [relay.var(n, shape=(4,)) for n in ("gamma", "beta", "mean", "var")]
    normalised = relay.nn.batch_norm(x, *statistics)[0]
    function = relay.Function([x, *statistics], normalised)
    return irtool.IRModule.from_expr(function, functions={"other": function})


def main():
    mod = network()
    whole = irtool.passes.DecomposeOpsForInference()
    one = irtool.passes.DecomposeOpsForInference("main")
    sequence = Sequential([whole, irtool.passes.FoldConstant(), irtool.passes.FuseOps(fuse_opt_level=2)])

    with irtool.PassContext(opt_level=3):
        results = [p(mod) for p in (whole, one, sequence)]
    for result in results:
        print(result)
    return results


if __name__ == "__main__":
    main()
