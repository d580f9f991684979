"""Products of matrices."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form
from ..literals import Text, invocation


def swapped(text: Text, rank: int) -> Text:
    """The tensor with its last two axes exchanged."""
    axes = [*range(rank - 2), rank - 1, rank - 2]
    return invocation("R.permute_dims", text, axes=axes)


def product(site: RelaxSite, a: Text, b: Text) -> Text:
    """`R.matmul`, with the dtype of the result where that is not the operands'."""
    dtypes = {site.type(0).dtype, site.type(1).dtype}
    site.require(len(dtypes) == 1, "its operands are of two dtypes")
    out = site.out.dtype
    return invocation("R.matmul", a, b, **({} if dtypes == {out} else {"out_dtype": out}))


@form("nn.dense", "R.matmul with R.permute_dims of the weights")
class Dense(Form):
    """The weights are stored by rows of the result, and are transposed."""

    def write(self, site: RelaxSite) -> Text:
        return product(site, site.args[0], swapped(site.args[1], 2))


@form("nn.matmul", "R.matmul, with R.permute_dims where an operand is transposed")
class Matmul(Form):
    """Either operand may be transposed."""

    def write(self, site: RelaxSite) -> Text:
        a, b = site.args
        a = swapped(a, site.rank(0)) if site.attrs.transpose_a else a
        b = swapped(b, site.rank(1)) if site.attrs.transpose_b else b
        return product(site, a, b)


@form("nn.batch_matmul", "R.matmul, with R.permute_dims where an operand is transposed")
class BatchMatmul(Matmul):
    """A product for each element of the batch; a batch of one goes with any other."""


@form("nn.bias_add", "R.add, with R.expand_dims of the bias", single=False)
class BiasAdd(Form):
    """The bias gets axes of one element behind its own."""

    def write(self, site: RelaxSite) -> Text:
        behind = site.rank() - 1 - site.axis(site.attrs.axis)
        bias = site.args[1]
        if behind:
            bias = invocation("R.expand_dims", bias, axis=list(range(1, behind + 1)))
        return invocation("R.add", site.args[0], bias)
