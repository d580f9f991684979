"""MergeCompilerRegions: neighbouring regions of one compiler become one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ..ir import Call, Expr, Function, Module, Var, children, rewrite
from ..trampoline import trampoline
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .partition.annotations import is_begin, is_end
from .partition.regions import Region, Regions
from .partition.scopes import RegionScopes, values_of_variables


@register_pass("MergeCompilerRegions", info_name="sequential")
@dataclass(frozen=True)
class MergeCompilerRegions(FunctionPass):
    """Merges adjacent regions for one compiler, as annotated by `AnnotateTarget` for single operators.

    ::

        %1 = annotation.compiler_end(exp(%0), compiler="npu");
        nn.relu(annotation.compiler_begin(%1, compiler="npu"))        ⇒  nn.relu(exp(%0))

    A region is merged with the regions of its inputs, unless a path between the two leads through a region for another
    compiler: the merged region would have to run both before and after it. A region is not merged either if it would read
    a variable bound in a scope (of a `let`, a clause, a function) and have a user outside that scope.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        regions = Regions(function)
        if not regions.all:
            return function
        _Merger(regions, function).run()

        def leave(old: Expr, new: Expr) -> Expr:
            if is_begin(old) and is_end(old.args[0]) and regions.of(old) is regions.of(old.args[0]):
                return new.args[0].args[0]  # type: ignore[attr-defined]  # a mark on a mark, as in `old`
            return new

        return rewrite(function, leave)


class _Merger:
    """Visits the regions upstream first. `apart` says which regions each one must not be merged with."""

    def __init__(self, regions: Regions, function: Function) -> None:
        self.regions = regions
        self.scopes = RegionScopes(function, regions.order, regions.all)
        self.apart: dict[Region, dict[Region, None]] = {r: {} for r in regions.all}
        self.kept_from: dict[Region, dict[Region, None]] = {r: {} for r in regions.all}
        self.visited: set[Region] = set()
        self.ends_above = _ends_above(regions)

    def run(self) -> None:
        for e in self.regions.order:
            if is_end(e):
                trampoline(self._visit(self.regions.at(e)))

    def _visit(self, region: Region) -> Generator[Any, Any, None]:
        if region in self.visited:
            return
        self.visited.add(region)
        siblings: list[Call] = []
        for begin in list(region.inputs):
            source = begin.args[0]
            if self.regions.of(source) is not None:
                yield self._visit(self.regions.at(source))
            for end in self.ends_above.get(source, ()):
                siblings.append(end)
                yield self._visit(self.regions.at(end))
        if region.merged_into is not None:
            return
        direct = [self.regions.of(b.args[0]) for b in region.inputs]
        parents = dict.fromkeys(p for p in direct if p is not None and p is not region)
        indirect = dict.fromkeys(r for r in map(self.regions.at, siblings) if r is not region)
        for upstream in {**parents, **indirect}:
            for other in self.apart[upstream]:
                self._keep_apart(region, other)
        for upstream in indirect:
            self._keep_apart(region, upstream)
        for parent in parents:
            if parent.compiler != region.compiler:
                self._keep_apart(region, parent)
            elif parent not in self.apart[region]:
                if self.scopes.can_merge(parent, region):
                    self._merge(parent, region)
                else:
                    self._keep_apart(region, parent)

    def _keep_apart(self, region: Region, other: Region) -> None:
        self.apart[region][other] = None
        self.kept_from[other][region] = None

    def _merge(self, parent: Region, region: Region) -> None:
        self.scopes.merge(parent, region)
        self.regions.merge(parent, region)
        for holder in self.kept_from.pop(parent):
            self.apart[holder].pop(parent, None)
            self._keep_apart(holder, region)


def _ends_above(regions: Regions) -> dict[Expr, tuple[Call, ...]]:
    """For each node outside all regions, the region ends that its value comes from."""
    result: dict[Expr, tuple[Call, ...]] = {}
    bound = values_of_variables(regions.order)
    for e in regions.order:
        if regions.of(e) is not None:
            continue
        ends: tuple[Call, ...] = ()
        for c in (bound[e],) if isinstance(e, Var) and e in bound else children(e):
            if is_begin(c):  # a region that returns its inputs
                c = c.args[0]
            more = (c,) if is_end(c) else result.get(c, ())
            ends = ends if more is ends else tuple(dict.fromkeys((*ends, *more))) if ends and more else ends or more
        if ends:
            result[e] = ends
    return result
