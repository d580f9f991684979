"""The page of the ablation: docs/ablation.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

import benchmarks.__main__ as benchmarks
from irtool.schedule import SCHEDULE

from ..compare.export import NETWORKS as COMPARED
from ..operators.table import BY_NAME as OPERATORS
from .build import switches
from .lines import lines_of
from .networks import NETWORKS
from .reasons import REASONS
from .record import LIMIT, Record

FEW = 2
"""So many networks are few."""


def page(records: Sequence[Record]) -> str:
    """Markdown of the results. A network in another precision counts as another network."""
    measured = [r for r in records if "active" in r.facts and not r.is_operator]
    operators = [r for r in records if "active" in r.facts and r.is_operator]
    broken = [r for r in records if "error" in r.facts]
    return f"""# Ablation

`python -m benchmarks.ablation --write` wrote this page: {benchmarks.processor()}, {benchmarks._compiler()}, one thread.

Each stage of the schedule and each strategy is switched off by itself, and the network built again. A ratio is the time without it over the time
with it: above 1, it makes the network faster. It is that of the fastest runs or the median over pairs of turns, whichever is nearer to 1, in time of
the thread on a processor. Other work on the machine evicts caches all the same: a change of a few percent is a hint, until it is measured again on a quiet
machine. Networks whose C text is the same without it are not timed. A change of less than {LIMIT:.0%} is none. "Needed" is what a network cannot be built without, or computes
wrong results without. A network in another precision counts as another network. Measured were {_counts(measured)}, and {len(operators)} single operators
with operands that only the run knows (those of `python -m benchmarks.operators`).
{_missing(measured)}
## Stages and strategies

"Active" are the networks that it changes; of these "measured" have a result, and "moved" differ by more than {LIMIT:.0%}. The mean is the geometric one over
the networks that were timed. "Operators" are the single ones that it moves or that need it, and the most that one takes without it. "Lines" are those
of its module and of modules that nothing else imports.

| | active | measured | moved | needed by | most without it | least without it | mean | operators | most | lines |
|---|---|---|---|---|---|---|---|---|---|---|
{chr(10).join(_row(s, measured, operators) for s in switches())}

## What moves no network

Measured on every network that it is active in, each with the reason for which it stays:

{_list(_with_reason(s, measured, operators) for s in switches() if _is_active(s, measured) and _is_settled(s, measured) and not _moving(s, measured))}
Active in networks that it was not measured on, and so not judged yet:

{_list(_open(s, measured) for s in switches() if not _is_settled(s, measured) and not _moving(s, measured))}
## What is active in no network

{_list(_with_reason(s, measured, operators) for s in switches() if _is_tried(s, measured) and not _is_active(s, measured))}
## What moves one network or two

{_list(_with_networks(s, measured) for s in switches() if 0 < len(_moving(s, measured)) <= FEW)}
## What is needed

{_list(_needing(s, measured) for s in switches() if any(r.needs(s) for r in measured))}
## Networks

| Network | Kind | Package | Precision | ms | C bytes | arena bytes | moved by |
|---|---|---|---|---|---|---|---|
{chr(10).join(map(_network, measured))}
{_failures(broken)}"""


def _moving(switch: str, records: Sequence[Record]) -> list[Record]:
    """The networks that a switch moves, or that need it."""
    return [r for r in records if r.moved(switch) or r.needs(switch)]


def _is_active(switch: str, records: Sequence[Record]) -> bool:
    return any(switch in r.facts["active"] for r in records)


def _is_tried(switch: str, records: Sequence[Record]) -> bool:
    """True if a stage or strategy was there when some network was measured."""
    return any(switch in r.switches for r in records)


def _is_settled(switch: str, records: Sequence[Record]) -> bool:
    """True if there is a result for every network that it is active in."""
    return _is_tried(switch, records) and all(switch in r.switches for r in records if switch in r.facts["active"])


def _open(switch: str, records: Sequence[Record]) -> str:
    names = [_title(r) for r in records if switch in r.facts["active"] and switch not in r.switches]
    return f"`{switch}`: {', '.join(names) or 'newer than the measurements'}"


def _timed(switch: str, records: Sequence[Record]) -> list[tuple[float, str]]:
    """The ratio of each network that is right without it, with its name."""
    results = ((r, r.switches.get(switch, {})) for r in records)
    return sorted((x["ratio"], _title(r)) for r, x in results if "ratio" in x and not x.get("wrong"))


def _row(switch: str, records: Sequence[Record], operators: Sequence[Record]) -> str:
    timed, alone = _timed(switch, records), _timed(switch, operators)
    done = [r for r in records if switch in r.switches and not r.switches[switch].get("same")]
    cells = [
        f"`{switch}`",
        str(sum(switch in r.facts["active"] for r in records)),
        str(len(done)),
        str(sum(r.moved(switch) and not r.needs(switch) for r in records)),
        str(sum(r.needs(switch) for r in records)),
        _extreme(timed[-1:], 1.0),
        _extreme(timed[:1], -1.0),
        f"{math.exp(sum(math.log(x) for x, _ in timed) / len(timed)):.3f}" if timed else "",
        str(len(_moving(switch, operators))),
        _extreme(alone[-1:], 1.0),
        str(lines_of(switch)),
    ]
    return f"| {' | '.join(cells)} |"


def _extreme(ratios: list[tuple[float, str]], sign: float) -> str:
    return "".join(f"{x:.2f} {name}" for x, name in ratios if sign * (x - 1) > 0)


def _title(r: Record) -> str:
    title = _network_title(r.network)
    return title if r.precision == "float32" else f"{title} ({r.precision})"


def _network_title(name: str) -> str:
    if name in OPERATORS:
        return name
    return COMPARED[name].title if name in COMPARED else NETWORKS[name].network.title


def _list(items: object) -> str:
    lines = [f"- {i}" if str(i).startswith("`") else f"- `{i}`" for i in items]  # type: ignore[attr-defined]  # it is iterable
    return "".join(f"{line}\n" for line in lines) or "Nothing.\n"


def _with_networks(switch: str, records: Sequence[Record]) -> str:
    return f"`{switch}`: {_effects(switch, _moving(switch, records))}"


def _with_reason(switch: str, records: Sequence[Record], operators: Sequence[Record]) -> str:
    """A switch that networks do not need: why it stays, the single operators that it moves, and the most that code and workspace grow without
    it."""
    parts = [REASONS.get(switch, "")]
    moving = _moving(switch, operators)
    parts += [_effects(switch, moving)] if moving else []
    for key, thing in (("c_bytes", "C"), ("arena_bytes", "workspace")):
        sizes = ((r.switches.get(switch, {}).get(key, 0) / max(1, r.facts[key]), _title(r)) for r in records)
        growth, title = max(sizes, default=(0.0, ""))
        parts += [f"{thing} {growth:.2f} times as large without it ({title})"] if growth > 1 + 5 * LIMIT else []
    text = "; ".join(filter(None, parts))
    return f"`{switch}`: {text}" if text else f"`{switch}`"


def _effects(switch: str, moving: Sequence[Record]) -> str:
    return ", ".join(
        f"{_title(r)} " + ("needs it" if r.needs(switch) else f"{r.switches[switch]['ratio']:.2f}") for r in moving
    )


def _needing(switch: str, records: Sequence[Record]) -> str:
    needing = [r for r in records if r.needs(switch)]
    why = next((str(r.switches[switch]["failed"]) for r in needing if "failed" in r.switches[switch]), "other results")
    return f"`{switch}`, by {len(needing)}: {why}"


def _counts(records: Sequence[Record]) -> str:
    precisions = dict.fromkeys(r.precision for r in records)
    return ", ".join(f"{sum(r.precision == p for r in records)} networks in {p}" for p in precisions)


def _missing(records: Sequence[Record]) -> str:
    """Networks of the list, and active switches, without a result."""
    measured = {r.network for r in records if r.precision == "float32"}
    networks = ", ".join(_network_title(n) for n in (*COMPARED, *NETWORKS) if n not in measured)
    unmeasured = {s: sum(s in r.facts["active"] and s not in r.switches for r in records) for s in switches()}
    counts = ", ".join(f"`{s}` on {n}" for s, n in unmeasured.items() if n)
    return "".join(
        f"\n{what}: {listed}.\n"
        for what, listed in (
            ("Active but not measured, as others had shown what it is worth, or time was short", counts),
            ("Of the list, not measured in float32", networks),
        )
        if listed
    )


def _network(r: Record) -> str:
    timed = [x for x in r.switches.values() if "with" in x]
    listed = NETWORKS.get(r.network)
    stages = {s.name for s in SCHEDULE}
    moved = sorted((s for s in r.switches if r.moved(s) or r.needs(s)), key=lambda s: (s not in stages, s))
    cells = [
        _network_title(r.network),
        listed.kind if listed else "side-by-side",
        listed.package if listed else "",
        r.precision,
        f"{min(x['with'] for x in timed):.3g}" if timed else "",
        str(r.facts["c_bytes"]),
        str(r.facts["arena_bytes"]),
        ", ".join(f"{s} {_short(r, s)}" for s in moved),
    ]
    return f"| {' | '.join(cells)} |"


def _short(r: Record, switch: str) -> str:
    return "needed" if r.needs(switch) else f"{r.switches[switch]['ratio']:.2f}"


def _failures(records: Sequence[Record]) -> str:
    if not records:
        return ""
    lines = (f"- {_title(r)}: {r.facts['error']}\n" for r in records)
    return f"\n## Networks that could not be measured\n\n{''.join(lines)}"
