"""Training: the module of one step, from a network for inference: loss, gradients, and updated weights as states.

A step is a function in Relay like any other: passes rewrite it, the interpreter runs it, `irtool build` compiles it.
"""

from __future__ import annotations

from ..namespace import submodules
from .options import TrainOptions as TrainOptions
from .step import TrainStep as TrainStep
from .step import train_step as train_step

__getattr__ = submodules(__name__)
