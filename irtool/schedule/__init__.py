"""Schedules: loop nests to faster loop nests. Strategies choose, primitives transform.

A schedule sees loop nests and the processor, never operators: every matrix product is tiled like one.

core/           forms, blocks, and their loop nests
primitives/     split, fuse, reorder, cache_read …: pure functions from blocks to blocks
windows/        domains split where padding, phases or windows change the indices
cost/           estimates in cycles
instructions/   dot products and matrix tiles
constants/      constants that the build computes
layouts/        blocked layouts of temporaries and weights
strategies/     one folder for each: the nest of a stage, its cost and its reason
scripts/        schedules by hand, and measured choices
graph/          rewrites of whole programs, and the pipeline that orders them
"""

from ..tir.vector_target import VectorTarget
from .core.block import Block
from .core.forms import Map, Reduction
from .core.nest import lower, lower_all
from .graph.kernel import schedule_kernel
from .pipeline import SCHEDULE, ProgramStage, schedule_program, without
from .strategies.base import Candidate, Stage, Strategy, strategies, strategy

__all__ = [
    "SCHEDULE",
    "Block",
    "Candidate",
    "Map",
    "ProgramStage",
    "Reduction",
    "Stage",
    "Strategy",
    "VectorTarget",
    "lower",
    "lower_all",
    "schedule_kernel",
    "schedule_program",
    "strategies",
    "strategy",
    "without",
]
