"""What operators declare, a line each: `python -m tests.ops.declarations` writes it to `declarations.txt`."""

from __future__ import annotations

from pathlib import Path

from irtool.ops import operators

FILE = Path(__file__).parent / "declarations.txt"


def text() -> str:
    """Name, arguments, attributes with their defaults, pattern of fusion, level of support, effects."""
    lines = []
    for cls in sorted(operators, key=lambda c: c.name):
        fields = ", ".join(f"{f.name}={f.default!r}" if _is_plain(f.default) else f.name for f in cls.fields())
        pattern = "-" if cls.pattern is None else cls.pattern.name
        rest = ["stateful"] * cls.stateful + ["vendor"] * bool(cls.vendor) + ["variadic"] * bool(cls.variadic)
        said = [cls.name, f"({', '.join(cls.arguments)})", f"[{fields}]", pattern, str(cls.support_level), *rest]
        lines.append(" ".join(said))
    return "\n".join(lines) + "\n"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str | tuple)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
