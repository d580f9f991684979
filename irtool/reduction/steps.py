"""The steps of a reduction, each with the reason for its place."""

from __future__ import annotations

from .edits.annotations import drop_annotations, drop_marks
from .edits.attributes import default_attributes
from .edits.branches import take_else, take_then
from .edits.clauses import drop_clauses, take_clauses
from .edits.constants import clear_constants, lift_constants
from .edits.dtypes import unify_dtypes
from .edits.extract import extract_calls, extract_lets
from .edits.functions import drop_functions, drop_type_definitions
from .edits.inline import inline_calls, inline_lets, open_literals
from .edits.operands import take_operands, take_others
from .edits.parameters import drop_parameters, flatten_parameters, merge_parameters
from .edits.pipeline import advance_pipeline, drop_passes, flatten_pipeline, plain_passes
from .edits.placeholders import zero_inner_calls
from .edits.shapes import shrink_axes, shrink_extents
from .edits.tuples import drop_fields, drop_outputs
from .search import Step

STEPS: tuple[tuple[str, Step], ...] = (
    ("functions", drop_functions),  # removes entire functions first: the cheapest step
    ("passes", drop_passes),  # shortens the pipeline, which makes every later candidate faster
    ("calls", extract_calls),  # extracts a subgraph of a body
    ("lets", extract_lets),  # extracts a subprogram in A-normal form
    ("outputs", drop_outputs),  # removes outputs, which extraction adds
    ("then", take_then),
    ("else", take_else),
    ("clauses", take_clauses),
    (
        "operands",
        take_operands,
    ),  # replaces a call by its operand, which removes nodes between two that must stay connected
    ("other operands", take_others),
    (
        "zeros",
        zero_inner_calls,
    ),  # replaces calls by zeros inside functions that have callers and cannot get another parameter
    ("inlined lets", inline_lets),  # inlines bindings and calls, which hide graphs from extraction
    ("inlined calls", inline_calls),
    ("literals", open_literals),
    ("patterns", drop_clauses),
    ("fields", drop_fields),
    ("pipelines", flatten_pipeline),  # expands named pipelines to lists, whose passes the next round drops
    (
        "earlier passes",
        advance_pipeline,
    ),  # runs the first passes and keeps their result; runs after passes were dropped
    ("constants", lift_constants),
    ("parameters", drop_parameters),
    ("fields of parameters", flatten_parameters),
    ("equal parameters", merge_parameters),
    ("extents", shrink_extents),  # shrinks equal extents everywhere at once, before single axes
    ("axes", shrink_axes),
    ("data", clear_constants),
    ("dtypes", unify_dtypes),
    ("annotations", drop_annotations),  # removes annotations: they shorten the text only
    ("marks", drop_marks),
    ("attributes", default_attributes),
    ("type definitions", drop_type_definitions),
    ("options", plain_passes),
)
