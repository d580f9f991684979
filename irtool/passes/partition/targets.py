"""Which operators a target supports: a table of rules, as data.

`targets.json` beside this file holds the targets that come with irtool. A file of the same form adds others or replaces
them; `register_target` does so from Python::

    {"npu": [
        {"operators": ["nn.relu", "clip"]},
        {"operators": ["nn.conv2d"], "dtypes": ["float32"], "attributes": {"data_layout": ["NHWC"]}, "constants": [1]}
    ]}

A call is supported if one of the rules that name its operator accepts it. Of a rule, all that is written must hold:

- `dtypes`: every tensor among the arguments has one of these element types (the tensors of a tuple count, too);
- `excluded_dtypes`: none of them has one of these;
- `attributes`: each of these attributes has one of the values listed;
- `constants`: the arguments at these positions are constants.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from ...diagnostics import UsageError, nearest
from ...ir import Call, Constant, Op, TensorType, Type, type_leaves
from ...ops.base import op


@dataclass(frozen=True)
class Rule:
    """What a target accepts of some operators."""

    operators: tuple[str, ...]
    dtypes: tuple[str, ...] = ()
    excluded_dtypes: tuple[str, ...] = ()
    attributes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    constants: tuple[int, ...] = ()

    def accepts(self, call: Call) -> bool:
        """Whether the call of one of the operators meets the conditions; its arguments are typed."""
        found = [t.dtype for a in call.args for t in _tensors(a.checked_type)]
        if self.dtypes and not all(d in self.dtypes for d in found):
            return False
        if any(d in self.excluded_dtypes for d in found):
            return False
        if any(getattr(call.attrs, name, None) not in values for name, values in self.attributes.items()):
            return False
        return all(i < len(call.args) and isinstance(call.args[i], Constant) for i in self.constants)


Targets = Mapping[str, Sequence[Rule]]

_registered: dict[str, Sequence[Rule]] = {}


def register_target(name: str, rules: Iterable[Rule | Mapping[str, Any]]) -> None:
    """Adds a target, or replaces the one of that name. Raises UsageError for a rule that makes no sense."""
    _registered[name] = _read_rules(name, list(rules), "register_target")


def known_targets(table: str = "") -> Targets:
    """Every target by name: those of irtool, registered ones, and those of the file `table`, if one is given."""
    return {**_builtin(), **_registered, **(read_targets(table) if table else {})}


def supports(rules: Sequence[Rule], call: Call) -> bool:
    """Whether a target of these rules can take over the call of an operator."""
    return isinstance(call.op, Op) and any(call.op.name in r.operators and r.accepts(call) for r in rules)


@cache
def _builtin() -> Targets:
    return read_targets(str(Path(__file__).with_name("targets.json")))


def read_targets(path: str) -> Targets:
    """The targets of a file. Raises UsageError for a file that cannot be read or has another form."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no table of targets: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path} is no table of targets: it is to map names of targets to lists of rules")
    return {name: _read_rules(name, rules, path) for name, rules in data.items()}


def _read_rules(target: str, rules: Any, where: str) -> Sequence[Rule]:
    if not isinstance(rules, list):
        raise UsageError(f"{where}: target {target} is to be a list of rules")
    return tuple(r if isinstance(r, Rule) else _read_rule(target, r, where) for r in rules)


def _read_rule(target: str, rule: Any, where: str) -> Rule:
    known = [f.name for f in fields(Rule)]
    if not isinstance(rule, Mapping) or "operators" not in rule:
        raise UsageError(f"{where}: a rule of target {target} lacks its list of operators")
    for key, value in rule.items():
        if key not in known:
            raise UsageError(f"{where}: a rule of target {target} has no {key}", help=nearest(key, known))
        form = Mapping if key == "attributes" else list | tuple
        if not isinstance(value, form):
            raise UsageError(f"{where}: {key} of a rule of target {target} is to be a {_FORMS[form is Mapping]}")
    for name in rule["operators"]:
        op(name)
    for name, values in rule.get("attributes", {}).items():
        if not isinstance(values, list | tuple):
            raise UsageError(f"{where}: target {target}: {name} is to be a list of the values that are accepted")
    return Rule(**{k: dict(v) if k == "attributes" else tuple(v) for k, v in rule.items()})


_FORMS = ("list", "map")


def _tensors(t: Type | None) -> Iterator[TensorType]:
    return (u for u in type_leaves(t) if isinstance(u, TensorType)) if t is not None else iter(())
