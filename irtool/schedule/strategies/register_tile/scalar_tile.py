"""Reductions with a tile of results in scalar registers, on processors without vectors.

    for i in 64: for j in 32:                 for i in 32: for j in 16:
      acc = 0                                   acc[2][2] = 0                                    (registers)
      for k: acc += x[i, k] * w[j, k]     ⇒     for k: acc[a][b] += x[2*i + a, k] * w[2*j + b, k]   (unrolled)
      out[i, j] = f(acc)                        out[2*i + a, 2*j + b] = f(acc[a][b])

Several results share each read, as in CMSIS-NN's products of matrices: 2 x 2 results, or four of a single row.
"""

from __future__ import annotations

from ....symbolic_int import is_known
from ....tir.dtypes import itemsize
from ....tir.expr import Var
from ....tir.stmt import Stmt
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, moves, operands, simplifier
from ...core.block import Block
from ...core.forms import Reduction
from ...core.nest import lower_all
from ...core.tile_stores import is_joined
from ...cost.register_tiles import Tile
from ...cost.tile_choice import TileChoice, sums_long_words
from ...primitives import store_joined
from ..base import Candidate, Stage, Strategy, strategy
from .strategy import tile_reduction


@strategy("scalar_tile")
class ScalarTile(Strategy):
    """A tile of results in scalar registers, without vectors, or with an instruction that sums the products of full vectors."""

    def choose(self, stage: Stage) -> Candidate | None:
        r, most = stage.reduction, stage.target.scalar_results
        if r is None or most < 2 or not r.inner:
            return None
        runs = sums_long_words(r, stage.target)
        if stage.lanes > 1 and not runs:
            return None
        tile_choice = (_choose_joined(r, stage.target) if runs else None) or _choose(r, most)
        if tile_choice is None:
            return None
        rows, columns = tile_choice.tile.rows, tile_choice.tile.vectors
        cost = max(1.0, stage.target.latency * tile_choice.cost) / (stage.target.summed_products if runs else 1)
        return Candidate(cost, tile_choice.reason, tile_choice, f"axis {tile_choice.vector}, tile {rows} x {columns}")

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        block = Block.of(stage.reduction)
        joined = sums_long_words(stage.reduction, stage.target) and _is_joined(stage.reduction, candidate.plan)
        finish = store_joined if joined else _as_it_is
        tiled = tile_reduction(block, candidate.plan, stage.target, serial=stage.serial, finish=finish)
        return lower_all(tiled, stage.target)


def _as_it_is(b: Block[Reduction]) -> Block[Reduction]:
    """The block unchanged: such processors have no caches that are worth prefetches."""
    return b


def _choose(r: Reduction, most: int) -> TileChoice | None:
    """Columns along the innermost loop whose steps share an operand, rows along another loop whose steps share the other operand.

    None if no steps share an operand.
    """
    free = [n for n, (v, extent) in enumerate(r.loops) if extent != 1 and not any(depends(g, v) for g in r.guards)]
    sharing = [n for n in reversed(free) if not _moves_all(r, r.loops[n][0])]
    for n in sharing:
        v, extent = r.loops[n]
        others = [m for m in sharing if m != n and _between_them(r, v, r.loops[m][0])]
        row = others[0] if others else None
        columns = min(extent, 2 if row is not None and most < 9 else 3 if row is not None else most)
        rows = min(r.loops[row][1], most // columns) if row is not None else 1
        if rows * columns > 1:
            along = f" and {rows} along {r.loops[row][0].name}" if row is not None else ""
            return TileChoice(
                n, 1, row, Tile(rows, columns), f"{columns} results along {v.name}{along}", 1 / (rows * columns)
            )
    return None


def _choose_joined(r: Reduction, target: VectorTarget) -> TileChoice | None:
    """A tile of the contiguous results of one vector, whose instructions compute bias, scale and clip behind the sums.

    None if no loop has full vectors of such results and steps that share an operand.
    """
    lanes = target.lanes(itemsize(r.acc.dtype))
    for n, (v, extent) in enumerate(r.loops):
        if not is_known(extent) or extent % lanes or any(depends(g, v) for g in r.guards) or _moves_all(r, v):
            continue
        choice = TileChoice(
            n, 1, None, Tile(1, lanes), f"{lanes} results along {v.name}, joined to a vector", 1 / lanes
        )
        if _is_joined(r, choice):
            return choice
    return None


def _is_joined(r: Reduction, choice: TileChoice) -> bool:
    """True if the results of a tile are contiguous, and a tile has nothing but them."""
    v = r.loops[choice.vector][0]
    whole = choice.tile.rows == 1 and r.loops[choice.vector][1] % choice.tile.vectors == 0
    return whole and choice.tile.vectors > 1 and is_joined(r.stores, v, simplifier(r.loops, r.inner))


def _moves_all(r: Reduction, v: Var) -> bool:
    """True if all operands depend on a loop."""
    return all(moves(e, v) for e in operands(r))


def _between_them(r: Reduction, v: Var, x: Var) -> bool:
    """True if no operand depends on both loops."""
    read = operands(r)
    return not any(moves(e, v) and moves(e, x) for e in read)
