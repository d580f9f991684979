"""The options of a training step."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ..diagnostics import UsageError
from .mistakes import WrongTraining

LOSSES = ("cross_entropy", "mse")
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")

INPUT = "input"
"""In place of a learning rate: each step is given one."""

_RATES = {"sgd": 1e-2, "momentum": 1e-2, "adam": 1e-3, "adamw": 1e-3}


@dataclass(frozen=True)
class TrainOptions:
    """Options of `irtool.train_step`. Formulas and defaults are those of `torch.optim`.

    Attributes:
        loss: `cross_entropy` between scores and the numbers of classes (int64), or `mse`, the mean of squared differences.
        class_axis: the axis of the scores' classes, for `cross_entropy`.
        optimizer: `sgd`, `momentum`, `adam` or `adamw`.
        learning_rate: a number, `input` for a parameter of the step, or None: 0.01, and 0.001 of `adam` and `adamw`.
        momentum: of `momentum`: the share of the last step's velocity.
        betas: of `adam` and `adamw`: the shares of the last averages of gradients and of their squares.
        epsilon: of `adam` and `adamw`: what is added to the root of the averaged squares.
        weight_decay: the factor of weights that is added to gradients, or, of `adamw`, taken off the weights; None: 0, and 0.01 of
            `adamw`.
        train_only: a regular expression; weights whose name it does not match as a whole stay as they are. None trains all.
        statistics_momentum: the share of a batch's statistics in the running ones of batch normalizations.
        seed: of the elements that dropouts leave out.
        ram_limit: the most bytes of workspace of a build of the step, which computes values again to that end; None for no limit.
    """

    loss: str = "cross_entropy"
    class_axis: int = 1
    optimizer: str = "sgd"
    learning_rate: float | str | None = None
    momentum: float = 0.9
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float | None = None
    train_only: str | None = None
    statistics_momentum: float = 0.1
    seed: int = 0
    ram_limit: int | None = None

    @property
    def rate(self) -> float | str:
        """The learning rate, or `input`."""
        return _RATES[self.optimizer] if self.learning_rate is None else self.learning_rate

    @property
    def decay(self) -> float:
        """The weight decay."""
        if self.weight_decay is not None:
            return self.weight_decay
        return 0.01 if self.optimizer == "adamw" else 0.0

    def check(self) -> None:
        """Raises UsageError for an unknown value."""
        for name, value, choices in (("loss", self.loss, LOSSES), ("optimizer", self.optimizer, OPTIMIZERS)):
            if value not in choices:
                raise _wrong(f"{name} of a training step is one of {', '.join(choices)}, not {value!r}")
        if self.rate != INPUT and not (isinstance(self.rate, int | float) and 0 <= self.rate < math.inf):
            raise _wrong(f"a learning rate is a number that is not negative, or {INPUT!r}, not {self.rate!r}")
        for name, share in (
            ("momentum", self.momentum),
            ("first beta", self.betas[0]),
            ("second beta", self.betas[1]),
        ):
            if not 0 <= share < 1:
                raise _wrong(f"the {name} is from 0 on and below 1, not {share}")
        if not 0 <= self.statistics_momentum <= 1:
            raise _wrong(f"the momentum of statistics is from 0 to 1, not {self.statistics_momentum}")
        for name, number in (("epsilon", self.epsilon), ("weight decay", self.decay)):
            if not 0 <= number < math.inf:
                raise _wrong(f"the {name} is a number that is not negative, not {number}")
        if self.ram_limit is not None and self.ram_limit < 0:
            raise _wrong(f"a limit of memory is a number of bytes, not {self.ram_limit}")
        if self.train_only is not None:
            try:
                re.compile(self.train_only)
            except re.error as error:
                raise _wrong(f"{self.train_only!r} is no regular expression: {error}") from None


def _wrong(message: str) -> UsageError:
    return UsageError(message, code=WrongTraining)
