"""Supported operators of targets, as data: tables of rules.

`targets.json` beside this file holds targets that come with irtool; `libraries` holds those whose conditions a table cannot
say. A file of the same form adds others or replaces them; `register_target` does so from Python::

    {"npu": {"rules": [
        {"operators": ["nn.relu", "clip"]},
        {"operators": ["nn.conv2d"], "dtypes": ["float32"], "attributes": {"data_layout": ["NHWC"]}, "constants": [1]}
    ], "optimize": "FoldConstant"}}

A call is supported if one of the rules that name its operator accepts it. Of a rule, all that is written must hold:

- `dtypes`: every tensor among the arguments has one of these element types (the tensors of a tuple count, too);
- `excluded_dtypes`: none of them has one of these;
- `attributes`: each of these attributes has one of the values listed;
- `constants`: the arguments at these positions are constants.

A `SupportRule` made in Python may have a `check(call)` as well. `optimize`, which may be left out, is a pipeline that runs on each
function made for the target.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ...diagnostics import UsageError, nearest
from ...files import read_bytes
from ...ir import Call, Constant, Op, TensorType, Type, type_leaves
from ...ops.base import op
from ..core.config_option import ConfigOption
from ..core.context import PassContext


@dataclass(frozen=True)
class SupportRule:
    """Calls of some operators that a target accepts."""

    operators: tuple[str, ...]
    dtypes: tuple[str, ...] = ()
    excluded_dtypes: tuple[str, ...] = ()
    attributes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    constants: tuple[int, ...] = ()
    check: Callable[[Call], bool] | None = None

    def accepts(self, call: Call) -> bool:
        """True if the call of one of the operators meets the conditions; its arguments are typed."""
        dtypes = [t.dtype for a in call.args for t in _tensors(a.checked_type)]
        if self.dtypes and not all(d in self.dtypes for d in dtypes):
            return False
        if any(d in self.excluded_dtypes for d in dtypes):
            return False
        if any(getattr(call.attrs, name, None) not in values for name, values in self.attributes.items()):
            return False
        if not all(i < len(call.args) and isinstance(call.args[i], Constant) for i in self.constants):
            return False
        return self.check is None or self.check(call)


@dataclass(frozen=True)
class TargetTable:
    """The rules of one target."""

    rules: tuple[SupportRule, ...] = ()
    optimize: str = ""

    def supports(self, call: Call) -> bool:
        """True if the target can take over the call of an operator; its arguments are typed."""
        return isinstance(call.op, Op) and any(call.op.name in r.operators and r.accepts(call) for r in self.rules)


Targets = Mapping[str, TargetTable]
CONFIG: Mapping[str, Any] = {
    "irtool.partition.targets": ConfigOption(str, "", "a JSON file with further targets and their supported operators")
}
"""The option of the pass context that names a file of targets."""

_registered: dict[str, TargetTable] = {}


def register_target(name: str, rules: Iterable[SupportRule | Mapping[str, Any]], optimize: str = "") -> None:
    """Adds a target, or replaces the one of that name. Raises UsageError for a rule that makes no sense."""
    _registered[name] = _read_target(name, {"rules": list(rules), "optimize": optimize}, "register_target")


def known_targets(context: PassContext) -> Targets:
    """Every target by name: those of irtool, registered ones, and those of the file that the context's options name."""
    path = context.option("irtool.partition.targets", "")
    return {**_libraries(), **_builtin(), **_registered, **(read_targets(path) if path else {})}


@cache
def _builtin() -> Targets:
    return read_targets(str(Path(__file__).with_name("targets.json")))


@cache
def _libraries() -> Targets:
    from .libraries import libraries

    return {
        name: TargetTable(
            tuple(SupportRule((o,), check=check) for o, check in library.operators.items()), library.optimize
        )
        for name, library in libraries().items()
    }


def read_targets(path: str) -> Targets:
    """The targets of a file. Raises UsageError for a file that cannot be read or has another form."""
    try:
        data = json.loads(read_bytes(path).decode("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no table of targets: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no table of targets: it is to map names of targets to their rules")
    return {name: _read_target(name, entry, path) for name, entry in data.items()}


def _read_target(target: str, entry: Any, where: str) -> TargetTable:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("rules"), list):
        raise UsageError(f"{where}: target {target} lacks its list of rules")
    for key in entry:
        if key not in ("rules", "optimize"):
            raise UsageError(f"{where}: target {target} has no {key}", help=nearest(key, ("rules", "optimize")))
    rules = tuple(r if isinstance(r, SupportRule) else _read_rule(target, r, where) for r in entry["rules"])
    optimize = entry.get("optimize", "")
    if not isinstance(optimize, str):
        raise UsageError(f"{where}: optimize of target {target} is to be the text of a pipeline")
    return TargetTable(rules, optimize)


def _read_rule(target: str, rule: Any, where: str) -> SupportRule:
    if not isinstance(rule, Mapping) or "operators" not in rule:
        raise UsageError(f"{where}: a rule of target {target} lacks its list of operators")
    for key, value in rule.items():
        if key not in _KINDS:
            raise UsageError(f"{where}: a rule of target {target} has no {key}", help=nearest(key, _KINDS))
        _check_items(value, _KINDS[key], f"{where}: {key} of a rule of target {target}")
    for name in rule["operators"]:
        op(name)
    lists: dict[str, Any] = {k: tuple(v) for k, v in rule.items() if k != "attributes"}
    return SupportRule(**lists, attributes=dict(rule.get("attributes", {})))


_KINDS: Mapping[str, Any] = {
    "operators": str,
    "dtypes": str,
    "excluded_dtypes": str,
    "attributes": list,
    "constants": int,
}
"""What each entry of a rule is a list of; `attributes` maps names to lists."""


def _check_items(value: Any, kind: type, what: str) -> None:
    if kind is list:
        fits = isinstance(value, Mapping) and all(isinstance(v, list | tuple) for v in value.values())
        form = "a map from names to lists of the values that are accepted"
    else:
        fits = isinstance(value, list | tuple) and all(isinstance(v, kind) for v in value)
        form = f"a list of {'numbers' if kind is int else 'names'}"
    if not fits:
        raise UsageError(f"{what} is to be {form}")


def _tensors(t: Type | None) -> Iterator[TensorType]:
    return (u for u in type_leaves(t) if isinstance(u, TensorType)) if t is not None else iter(())
