"""Writes Relay text line by line: parameters, bindings, a result."""

from __future__ import annotations


class Text:
    """Collects one `@main`. Every method that computes something returns the name of its result (`%3`)."""

    def __init__(self) -> None:
        self._params: list[str] = []
        self._lines: list[str] = []

    def param(self, name: str, *shape: int, dtype: str = "float32") -> str:
        """Declares a parameter of that shape."""
        self._params.append(f"%{name}: Tensor[({', '.join(map(str, shape))}), {dtype}]")
        return f"%{name}"

    def call(self, op: str, *args: str, **attrs: object) -> str:
        """Binds the call of an operator."""
        inside = [*args, *[f"{k}={_value(v)}" for k, v in attrs.items()]]
        return self.bind(f"{op}({', '.join(inside)})")

    def bind(self, expression: str) -> str:
        """Binds any expression."""
        name = f"%{len(self._lines)}"
        self._lines.append(f"  {name} = {expression};")
        return name

    def text(self, result: str) -> str:
        """The module."""
        head = '#[version = "0.0.5"]\n'
        return f"{head}def @main({', '.join(self._params)}) {{\n" + "\n".join(self._lines) + f"\n  {result}\n}}\n"


def _value(v: object) -> str:
    if isinstance(v, str):
        return f'"{v}"'
    return f"[{', '.join(map(_value, v))}]" if isinstance(v, list | tuple) else str(v)
