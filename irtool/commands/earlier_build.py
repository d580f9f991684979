"""The build of an earlier `irtool run` of the same model: with all inputs given, the model need not be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..driver.artifact import Artifact
    from ..driver.cache import Key
    from ..driver.session import Session

_KIND = "run"


@dataclass(frozen=True)
class EarlierBuild:
    """An earlier build, the values for its parameters, and the messages of reading its model.

    Attributes:
        values: of the parameters, in order.
        names: of the outputs in the model.
        messages: the warnings and notes of reading the model.
    """

    artifact: Artifact
    values: Sequence[Any]
    names: Sequence[str]
    messages: Sequence[str]


def key_of_run(session: Session, file: str, param_facts: ParamFacts, *others: object) -> str:
    """A key that is equal for runs with the same build: of inputs it has names, types and shapes, not values. Empty for a build that
    cannot be told from others.

    Args:
        others: the other facts that decide the module.

    Raises IrError for files that cannot be read.
    """
    from ..driver.session import BuildInput
    from .input_module import read_input

    if file == "-":
        return ""
    types = [(name, str(a.dtype), a.shape) for name, a in param_facts.values.items()]
    facts = replace(param_facts, inputs=(), single={}, image=None).key()

    def identify(key: Key) -> None:
        key.add(_KIND, repr((read_input(file).key(), facts, types, others)))

    return session.key(BuildInput(dict, dict, identify))  # type: ignore[arg-type]  # only the key of it is used


def find_earlier(session: Session, key: str, param_facts: ParamFacts) -> EarlierBuild | None:
    """The build that `keep_build` kept under the key; None without one, or for inputs of other names, shapes or dtypes."""
    from ..driver.cache_folder import CachedTexts

    text = CachedTexts().read(_KIND, key) if key else None
    if text is None:
        return None
    about: Mapping[str, Any] = json.loads(text)
    artifact = session.earlier(about["build"])
    if artifact is None:
        return None
    values = artifact.exact_inputs(param_facts.values.renamed(about["inputs"]))
    return None if values is None else EarlierBuild(artifact, values, about["outputs"], about["messages"])


def keep_build(
    key: str, build: str, inputs: Mapping[str, str], outputs: Sequence[str], messages: Sequence[str]
) -> None:
    """Keeps the key of a build under the key of a run.

    Args:
        key: that of the run; nothing is kept where it or that of the build is empty.
        build: the key of the build in the cache.
        inputs: the names of parameters by those of inputs in the model.
        outputs: the names of outputs in the model.
        messages: the warnings and notes of reading it.
    """
    from ..driver.cache_folder import CachedTexts

    if key and build:
        about = {"build": build, "inputs": dict(inputs), "outputs": list(outputs), "messages": list(messages)}
        CachedTexts().write(json.dumps(about), _KIND, key)
