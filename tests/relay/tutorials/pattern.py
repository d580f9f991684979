"""Finds and rewrites a pattern: batch_norm written out."""

from irtool import relay
from irtool.relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard


class BatchnormCallback(DFPatternCallback):
    def __init__(self, require_type=False):
        super().__init__(require_type)
        self.x = wildcard()
        self.var = wildcard()
        self.mean = wildcard()
        self.beta = wildcard()
        self.gamma = wildcard()
        self.eps = wildcard()
        self.pattern = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps) + self.beta

    def callback(self, pre, post, node_map):
        x = node_map[self.x][0]
        var = node_map[self.var][0]
        mean = node_map[self.mean][0]
        beta = node_map[self.beta][0]
        gamma = node_map[self.gamma][0]
        eps = node_map[self.eps][0]
        return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.item())[
            0
        ]  # TVM: return relay.op.nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.numpy().item())[0]


x = relay.var("x", shape=(1, 3, 8, 8))
names = ("var", "mean", "beta", "gamma")
var, mean, beta, gamma = [relay.var(n, shape=(3, 1, 1)) for n in names]
BN = gamma * (x - mean) / relay.op.sqrt(var + relay.const(1e-5)) + beta
assert BatchnormCallback().pattern.match(BN)
out = rewrite(BatchnormCallback(), BN)
assert out.tuple_value.op.name == "nn.batch_norm"

conv = is_op("nn.conv2d")(wildcard(), wildcard())
relu = is_op("nn.relu")(conv)
call = relay.nn.relu(relay.nn.conv2d(x, relay.var("w"), channels=4, kernel_size=(3, 3)))
partitioned = relu.partition(call)
assert partitioned.op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.relu_"
