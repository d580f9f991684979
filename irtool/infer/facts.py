"""Facts about unknown types: dtypes and single dimensions, beside a solver that only knows complete types."""

from __future__ import annotations

from typing import Any

from ..ir import ANY, IncompleteType, TensorType, TupleType, Type
from ..ops.base import RelationError
from ..ops.partial import Known, is_settled, meet
from .solver import Solver, TypeRelation


class Facts:
    """Shapes and dtypes of unknowns, each as far as it is known. What becomes whole is bound in the solver.

    Attributes:
        changes: how often something became known.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.changes = 0
        self._shapes: dict[Type, Any] = {}
        self._dtypes: dict[Type, str] = {}
        self._moved: list[tuple[Type, Any, str | None]] = []
        solver.on_bind = self._note_binding
        solver.is_patient = True

    def shape(self, t: Type) -> Known:
        """The shape of a tensor, a list for a tuple; `?` is unknown."""
        self._settle()
        t = self.solver.find(t)
        if isinstance(t, TupleType):
            return [self.shape(f) for f in t.fields]
        if isinstance(t, TensorType):
            return tuple(None if d is ANY else d for d in t.shape)
        return self._shapes.get(t)

    def dtype(self, t: Type) -> Any:
        """The dtype of a tensor, a list for a tuple, None if it is unknown."""
        self._settle()
        t = self.solver.find(t)
        if isinstance(t, TupleType):
            return [self.dtype(f) for f in t.fields]
        if isinstance(t, TensorType):
            return t.dtype or None
        return self._dtypes.get(t)

    def learn_shape(self, t: Type, shape: Known) -> None:
        """Takes note of a shape. Raises RelationError if it contradicts a known one."""
        t = self.solver.find(t)
        if shape is None:
            return
        if isinstance(shape, list):
            if isinstance(t, IncompleteType):
                t = self._bind(t, TupleType(tuple(IncompleteType() for _ in shape)))
            if not isinstance(t, TupleType) or len(t.fields) != len(shape):
                raise RelationError(f"it is {self.solver.resolve(t)}, not a tuple of {len(shape)} fields")
            for f, s in zip(t.fields, shape, strict=True):
                self.learn_shape(f, s)
        elif isinstance(t, IncompleteType):
            known = self._shapes.get(t)
            known_now = meet(known, shape)
            if known_now != known:
                self.changes += 1
                self._shapes[t] = known_now
                self._complete(t)
        elif isinstance(t, TensorType):
            meet(tuple(None if d is ANY else d for d in t.shape), shape)

    def learn_dtype(self, t: Type, dtype: Any) -> None:
        """Takes note of a dtype, of a list for the fields of a tuple. Raises RelationError if it contradicts a known one."""
        t = self.solver.find(t)
        if isinstance(t, TupleType):
            dtypes = dtype if isinstance(dtype, list) else [dtype] * len(t.fields)
            for f, d in zip(t.fields, dtypes, strict=False):
                self.learn_dtype(f, d)
        elif dtype is None or isinstance(dtype, list):
            return
        elif isinstance(t, IncompleteType):
            known = self._dtypes.get(t)
            if known is None:
                self.changes += 1
                self._dtypes[t] = dtype
                self._complete(t)
            elif known != dtype:
                raise RelationError(f"the data types {known} and {dtype} differ")
        elif isinstance(t, TensorType) and t.dtype and t.dtype != dtype:
            raise RelationError(f"the data types {t.dtype} and {dtype} differ")

    def ask(self, rule: TypeRelation) -> None:
        """Takes note of the facts that an undecided rule deduces."""
        if rule.out is None:
            rule.out = IncompleteType()
        args, out = rule.attrs.deduce_shapes([self.shape(t) for t in rule.types], self.shape(rule.out))
        for t, s in zip(rule.types, args, strict=True):
            self.learn_shape(t, s)
        self.learn_shape(rule.out, out)
        args, out = rule.attrs.deduce_dtypes([self.dtype(t) for t in rule.types], self.dtype(rule.out))
        for t, d in zip(rule.types, args, strict=True):
            self.learn_dtype(t, d)
        self.learn_dtype(rule.out, out)

    def presume(self, rule: TypeRelation) -> None:
        """Takes note of presumptions, which hold in all but odd programs."""
        args = rule.attrs.presume_dtypes([self.dtype(t) for t in rule.types], self.dtype(rule.out or IncompleteType()))
        for t, d in zip(rule.types, args, strict=True):
            self.learn_dtype(t, d)

    def _complete(self, t: IncompleteType) -> None:
        shape, dtype = self._shapes.get(t), self._dtypes.get(t)
        if dtype is not None and is_settled(shape):
            self._bind(t, TensorType(shape, dtype))  # type: ignore[arg-type]  # a settled shape is known

    def _bind(self, t: IncompleteType, known: Type) -> Type:
        self._shapes.pop(t, None)
        self._dtypes.pop(t, None)
        self.changes += 1
        result = self.solver.unify(t, known)
        self.solver.run()
        return result

    def _note_binding(self, unknown: IncompleteType, t: Type) -> None:
        if unknown in self._shapes or unknown in self._dtypes:
            self._moved.append((t, self._shapes.pop(unknown, None), self._dtypes.pop(unknown, None)))

    def _settle(self) -> None:
        """Hands the facts of bound unknowns to the types that they are bound to."""
        while self._moved:
            t, shape, dtype = self._moved.pop()
            t = self.solver.find(t)
            if isinstance(shape, tuple) and not isinstance(t, TupleType):
                self.learn_shape(t, shape)
            self.learn_dtype(t, dtype)
