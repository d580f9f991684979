"""The build of an earlier `irtool run` of the same model: with all inputs given, the model need not be read again."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .notes import say
from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..driver.artifact import Artifact
    from ..driver.cache import Key
    from ..driver.session import Session
    from ..ir import Var

_KIND = "run"
_MOST_RANDOM = 1 << 22
"""Bytes of random values that are kept; those of larger parameters are drawn again, for which the model is read."""


@dataclass(frozen=True)
class RandomValues:
    """The random values of a run.

    Attributes:
        sentence: names their parameters; empty without any.
        values: by name of the parameter.
    """

    sentence: str
    values: Mapping[str, Any]

    @classmethod
    def of(
        cls, params: Sequence[Var], values: Sequence[Any], random: Sequence[str], written: int, seed: int
    ) -> RandomValues:
        """The values of parameters of these names; the text of their function has as many parameters as `written`."""
        from ..interp.random_inputs import name_random

        drawn = {p.name: v for p, v in zip(params, values, strict=True) if p.name in random}
        return cls(name_random(random, max(written, len(params)), (seed,)), drawn)

    def say(self) -> None:
        """Prints the note that names the parameters, if there are any."""
        if self.sentence:
            say(self.sentence)


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
    random: RandomValues


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
    random = RandomValues(about["random"], _arrays(about["values"]))
    values = artifact.exact_inputs({**param_facts.values.renamed(about["inputs"]), **random.values})
    return None if values is None else EarlierBuild(artifact, values, about["outputs"], about["messages"], random)


def keep_build(
    key: str,
    build: str,
    inputs: Mapping[str, str],
    outputs: Sequence[str],
    messages: Sequence[str],
    random: RandomValues,
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
        about = {
            "build": build,
            "inputs": dict(inputs),
            "outputs": list(outputs),
            "messages": list(messages),
            "random": random.sentence,
            "values": _texts(random.values),
        }
        CachedTexts().write(json.dumps(about), _KIND, key)


def _texts(values: Mapping[str, Any]) -> dict[str, tuple[str, Sequence[int], str]]:
    """Dtype, shape and bytes of each array by name; nothing for values that are no plain arrays, or too large."""
    import numpy as np

    if not all(type(v) is np.ndarray and v.dtype.kind in "biuf" and not v.dtype.metadata for v in values.values()):
        return {}
    if sum(v.nbytes for v in values.values()) > _MOST_RANDOM:
        return {}
    return {n: (v.dtype.str, v.shape, base64.b64encode(v.tobytes()).decode()) for n, v in values.items()}


def _arrays(texts: Mapping[str, tuple[str, Sequence[int], str]]) -> dict[str, Any]:
    """The arrays of `_texts`."""
    import numpy as np

    return {
        n: np.frombuffer(bytearray(base64.b64decode(data)), dtype).reshape(shape)
        for n, (dtype, shape, data) in texts.items()
    }
