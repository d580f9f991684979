"""The options of a build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ..backends.base import Backend, backends, find_backend, merge_flags
from ..diagnostics import UsageError, nearest
from ..ir.target import Target
from ..ir.tvm_target_kinds import KINDS
from ..passes.core.context import PassContext
from ..passes.core.tvm_options import notes_on
from ..tir.vector_target import SIZES, USUAL
from .caches import check_cache_dtype
from .precision import EXACT, precision_passes

TIR = "tir"
"""The value of `emit` for the scheduled program, which needs no backend."""

ISEL = "isel"
"""The value of `emit` for the program after instruction selection, as the backend prints it."""

TEXTS = (TIR, ISEL)
"""The values of `emit` that give the text of a program, and no code."""


@dataclass(frozen=True)
class Options:
    """The options of `build`, checked; it documents each. `entries`: the function of `NAME_run` first.

    `backend` has its own flags; `target` is what passes are told; `sizes` are what the processor is said to have, see
    `irtool.tir.vector_target.SIZES`. `config` has the keys and values of the pass context,
    sorted by key. `schedule` is a text of schedules made by hand, see `irtool.schedule.scripts.script`. `tuned` has choices that were
    measured, by stage, see `irtool.schedule.scripts.tuned`. `precision` is that of products, see `irtool.driver.precision`;
    `cache_dtype` that of caches, empty for the model's, see `irtool.driver.caches`. `kernel`: of
    a text, only the kernels whose names have a match of this regular expression.
    """

    backend: Backend = field(default_factory=lambda: find_backend("c").make())
    _: KW_ONLY
    target: str = "c"
    sizes: tuple[tuple[str, Any], ...] = ()
    opt_level: int = 3
    name: str = "model"
    entries: tuple[str, ...] = ("main",)
    emit: str = ""
    kernel: str = ""
    required_pass: tuple[str, ...] = ()
    disabled_pass: tuple[str, ...] = ()
    config: tuple[tuple[str, Any], ...] = ()
    schedule: str = ""
    tuned: tuple[tuple[str, str], ...] = ()
    precision: str = EXACT
    cache_dtype: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What the choice of the backend has to say."""

    def __post_init__(self) -> None:
        precision_passes(self.precision)  # refuses unknown ones
        check_cache_dtype(self.cache_dtype)
        backend = self.backend
        if not self.emit:
            object.__setattr__(self, "emit", default_emit(backend))
        outputs = outputs_of(type(backend))
        if self.emit not in outputs:
            raise UsageError(
                f"emit={self.emit!r} is not one of {', '.join(outputs)}, the outputs of the backend {backend.name}",
                help=_who_makes(self.emit) or nearest(self.emit, outputs),
            )
        if self.kernel and self.emit not in TEXTS:
            raise UsageError(f"kernel goes with emit={' or '.join(TEXTS)}, not with emit={self.emit!r}")
        try:
            re.compile(self.kernel)
        except re.error as error:
            raise UsageError(f"kernel={self.kernel!r} is no regular expression: {error}") from None
        if self.emit not in TEXTS and backend.fit_name(self.name) != self.name:  # nothing of a text has that name
            raise UsageError(f"{self.name!r} cannot be the name of the output: {backend.name_rule}")
        if not self.entries or len(set(self.entries)) != len(self.entries):
            raise UsageError("name at least one entry function, and each only once")
        backend = backend.fitted(self.emit)
        object.__setattr__(self, "backend", backend)
        backend.check(self.entries, self.emit)


def choose_options(
    target: str | Mapping[str, Any] | Target,
    flags: Sequence[Mapping[str, Any]],
    governing: PassContext | None = None,
    *,
    opt_level: int | None = None,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    config: Mapping[str, Any] | None = None,
    **own: Any,
) -> Options:
    """Options from several sources.

    Args:
        target: the backend, with flags of its own.
        flags: further flags of the backend, from several places; None leaves one as the target says.
        governing: the context whose settings hold where the arguments after it say nothing.
        own: further fields of `Options`.

    Raises:
        UsageError: a wrong option, or a flag with two values.
    """
    backend, seen, sizes = choose_backend(target, merge_flags(*flags))
    other = backend.stand_in() if own.get("emit", "") in ("", "so") else None
    notes = () if other is None else (other[1],)
    backend = backend if other is None else other[0]
    context = (governing or PassContext(opt_level=3)).overridden(
        opt_level, required_pass, disabled_pass, config, target=seen
    )
    return Options(
        backend=backend,
        target=seen,
        sizes=sizes,
        opt_level=context.opt_level,
        required_pass=tuple(sorted(context.required_pass)),
        disabled_pass=tuple(sorted(context.disabled_pass)),
        config=tuple(sorted(context.config.items())),
        notes=(*notes, *(f"note: {n}" for n in notes_on(context.config))),
        **own,
    )


def default_emit(backend: Backend | type[Backend]) -> str:
    """The default of `emit` for this backend, and for its flags if it has some."""
    if isinstance(backend, Backend) and backend.usual_emit:
        return backend.usual_emit
    return backend.default_emit or ("so" if "so" in backend.emits else backend.emits[0])


def outputs_of(backend: type[Backend]) -> tuple[str, ...]:
    """The values of `emit` for this backend. Selected nests are among them if it has nests selected."""
    return (TIR, *([ISEL] if backend.selection is not Backend.selection else []), *backend.emits)


def default_target(emit: str) -> str:
    """The target of a build that names none: `c`, unless another backend is the only one with that output."""
    if not emit or emit in outputs_of(find_backend(_USUAL_TARGET)):
        return _USUAL_TARGET
    names = [b.name for b in backends if emit in outputs_of(b)]
    return names[0] if len(names) == 1 else _USUAL_TARGET


_USUAL_TARGET = "c"


def _who_makes(emit: str) -> str:
    names = [b.name for b in backends if emit in outputs_of(b)]
    if len(names) < 2:
        return f"the backend {names[0]} has that output" if names else ""
    return f"the backends {', '.join(names[:-1])} and {names[-1]} have that output"


def choose_backend(
    target: str | Mapping[str, Any] | Target, flags: Mapping[str, Any]
) -> tuple[Backend, str, tuple[tuple[str, Any], ...]]:
    """The backend that a target names, the target that passes see, and the processor sizes that it sets.

    Flags come from the braces of `c{math=strict}`, from TVM's notation (`c -mcpu=cortex-a72`; options that are no flags of the
    backend are for passes) and from `flags`, where None means that nothing is said, and what a backend does not have may be
    false or empty. Raises UsageError for a target without a backend, and what `Backend.make` raises.
    """
    inside: dict[str, Any] = {}
    name = ""
    if isinstance(target, str):
        match = re.fullmatch(r"\s*([\w.-]+)\s*(\{.*\})?(.*)", target, re.DOTALL)
        if match is not None and match[2]:
            from ..passes.core.pipeline import parse_call

            name, inside = parse_call(f"{match[1]}{match[2]}", "target")
            target = f"{name}{match[3]}"
        elif match is not None:
            name = match[1]
    known = backends.find(name) if name else None
    if known is not None and name not in KINDS:  # a backend from outside, which passes have not heard of
        assert isinstance(target, str)
        target = known.target_kind + target[target.index(name) + len(name) :]
    elif name and name not in KINDS and not _is_target(target):
        known = find_backend(name)
    read = Target.parse(target)
    cls = known or find_backend(read.kind)
    fields = {f.name for f in cls.fields()}
    options = {k: v for k, v in read.options if k in fields}
    own_flags = {k: v for k, v in flags.items() if v is not None and (k in fields or (v and v != "none"))}
    sizes = {n for n in SIZES if n not in fields}
    set_here = merge_flags(
        *({k: _number(v) for k, v in source.items() if k in sizes} for source in (inside, dict(read.options)))
    )
    USUAL.resized(set_here)
    own = {k: v for k, v in inside.items() if k not in sizes}
    return cls.make(own, options, own_flags), str(read), tuple(sorted(set_here.items()))


def _number(value: Any) -> Any:
    """A size as text, for comparison with sizes from other sources: `4`, `"4"`."""
    text = str(value)
    return int(text) if not isinstance(value, bool) and re.fullmatch(r"\d+", text) else value


def _is_target(target: Any) -> bool:
    try:
        Target.parse(target)
    except UsageError:
        return False
    return True
