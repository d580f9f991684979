"""The stages of a chain of kernels that form an attention."""

from __future__ import annotations

from collections.abc import Sequence

from ....tir.forms import AnyForm, Reduction, stores_of, with_buffers
from ....tir.kernel import Kernel
from ....tir.stmt import Buffer
from .tiled import is_product


class Chain:
    """The stages of a chain of kernels over parameters of their own.

    Attributes:
        params: the operands.
        out: the result.
        before: stages that compute operands of the others, such as a mask from positions.
        stages: a product, stages on its rows, and a product.
        same: for each buffer that is a view of another one, that one.
        inner: the tensors between the stages.
    """

    def __init__(self, kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]]) -> None:
        """`wiring`: for each input of the kernels, the number of the chain's parameter, or -1 - n for the result of the n-th
        kernel."""
        self.params: list[Buffer] = []
        self.same: dict[Buffer, Buffer] = {}
        self.stages: list[AnyForm] = []
        self.out = kernels[-1].outputs[0]
        for k, wires in zip(kernels, wiring):
            replaced: dict[Buffer, Buffer] = {}
            for b, n in zip(k.inputs, wires):
                if n < 0:
                    result = kernels[-1 - n].outputs[0]
                    self.same[b] = self.same.get(result, result)
                else:
                    replaced[b] = b.replace(name=f"p{len(self.params)}")
                    self.params.append(replaced[b])
            self.stages += [with_buffers(form, replaced) for form in k.stages]
        first = next(n for n, form in enumerate(self.stages) if is_product(form))
        self.before, self.stages = self.stages[:first], self.stages[first:]
        self.inner = {k.outputs[0] for k in kernels[:-1]} | {b for k in kernels for b in k.temporaries} | set(self.same)
        self.inner -= {s.buffer for form in self.before for s in stores_of(form)}

    @property
    def products(self) -> tuple[Reduction, Reduction]:
        """The first stage and the last one."""
        first, last = self.stages[0], self.stages[-1]
        assert isinstance(first, Reduction) and isinstance(last, Reduction)
        return first, last

    @property
    def work(self) -> int:
        """Updates of both products."""
        return sum(r.work for r in self.products)
