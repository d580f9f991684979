"""Blocks that hold nothing but a block: the inner braces go."""

from __future__ import annotations

from itertools import accumulate


def without_needless_braces(text: str) -> str:
    """C text in lines, without pairs of braces, alone on their lines, around all that is in another pair.

    ::

        for (…) {            for (…) {
          {                    int x;
            int x;      ⇒      …
            …                }
          }
        }
    """
    lines = text.split("\n")
    bare = [line.lstrip(" ") for line in lines]
    if "{" not in bare:
        return text
    needless: set[int] = set()
    shift = [0] * (len(lines) + 1)
    stack: list[int] = []
    for n, line in enumerate(bare):
        if line.startswith("}"):
            begin = stack.pop()
            alone = bare[begin] == "{" and line == "}" and begin > 0 and bare[begin - 1].endswith("{")
            if alone and n + 1 < len(bare) and bare[n + 1].startswith("}"):
                needless |= {begin, n}
                shift[begin] += 2
                shift[n] -= 2
        if line.endswith("{"):
            stack.append(n)
    indented = zip(lines, accumulate(shift))
    return "\n".join(
        line if line.startswith("#") else line[less:] for n, (line, less) in enumerate(indented) if n not in needless
    )
