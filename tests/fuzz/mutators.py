"""Ways to damage a text a little, each a function of the text, the seeds and a source of randomness."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.hostile import ATTRIBUTES, CHARACTERS, DTYPES, JSON_VALUES, NESTS, NUMBERS, PIECES, SHAPES

WORD = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<type>Tensor\[\([^()\n]*\), ?\w+\])|(?P<comment>/\*[^*\n]*\*/)|(?P<variable>%[A-Za-z_]\w*)'
    r"|(?P<graph>%\d+)|(?P<function>@[\w.]+)|(?P<meta>meta\[[\w.]*\]\[\d+\])|(?P<number>-?\d[\w.]*(?:e[+-]\w+)?)"
    r"|(?P<dtype>(?:u?int|b?float)\d+(?:x\d+)?|bool)\b|(?P<name>[A-Za-z_][\w.]*)|(?P<blank>\s+)|(?P<sign>->|=>|==|!=|<=|>=|.)",
    re.DOTALL,
)
"""The kinds of words, roughly: what is exchanged for another of its kind."""

_DTYPE = re.compile(r"\b(?:u?int|b?float)\d+(?:x\d+)?\b|\bbool\b")
_NUMBER = re.compile(r"(?<![\w%@])-?\d[\w.]*")
_SHAPE = re.compile(r"(?<=Tensor\[)\([^()\n]*\)")
_ATTRIBUTE = re.compile(r"(?<=[(, ])(\w+)=(\[[^\]]*\]|\"[^\"\n]*\"|[\w.+-]+)")
_COMMENT = re.compile(r" ?/\*[^*]*\*/")
_TYPED = re.compile(r": (?=[A-Z(frbui_])")
_JSON_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\[[^\[\]\n]{0,40}\]|\b-?\d+\b')
_NAME = re.compile(r"(?<![\w%@\".])[A-Za-z_][\w.]*(?=\()")


@dataclass
class Seeds:
    """Texts to mutate, taken apart once: the words of each, and all words by their kind."""

    texts: Sequence[str]
    words: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_kind: dict[str, set[str]] = {}
        for text in self.texts:
            for match in WORD.finditer(_code(text)):
                by_kind.setdefault(match.lastgroup or "", set()).add(match[0])
        self.kinds = {kind: sorted(examples) for kind, examples in sorted(by_kind.items())}

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        known = self.words.get(text)
        if known is None:
            known = [m[0] for m in WORD.finditer(text)]
            if len(self.words) < 5_000:
                self.words[text] = known
        return known


Mutator = Callable[[str, Seeds, random.Random], str]
MUTATORS: list[Mutator] = []


def mutator(make: Mutator) -> Mutator:
    """Registers a way to mutate."""
    MUTATORS.append(make)
    return make


def mutate(text: str, seeds: Seeds, draw: random.Random) -> str:
    """The text with one to three changes."""
    for _ in range(draw.choice((1, 1, 1, 1, 2, 2, 3))):
        text = draw.choice(MUTATORS)(text, seeds, draw)
    return text


def _code(text: str) -> str:
    """A text without its metadata, whose strings are long."""
    return text.partition("#[metadata]")[0]


def _one(pattern: re.Pattern[str], text: str, draw: random.Random, make: Callable[[re.Match[str]], str]) -> str:
    """The text with one of the matches replaced; as it was where there is none."""
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = draw.choice(matches)
    return text[: match.start()] + make(match) + text[match.end() :]


@mutator
def delete_words(text: str, seeds: Seeds, draw: random.Random) -> str:
    words = list(seeds.split(text))
    word_index = draw.randrange(len(words) + 1)
    del words[word_index : word_index + draw.choice((1, 1, 1, 2, 3, 5, 9))]
    return "".join(words)


@mutator
def repeat_words(text: str, seeds: Seeds, draw: random.Random) -> str:
    words = list(seeds.split(text))
    word_index = draw.randrange(len(words) + 1)
    words[word_index:word_index] = words[word_index : word_index + draw.choice((1, 1, 2, 4, 8))] * draw.choice(
        (1, 1, 1, 2, 30)
    )
    return "".join(words)


@mutator
def swap_words(text: str, seeds: Seeds, draw: random.Random) -> str:
    words = list(seeds.split(text))
    if words:
        a, b = draw.randrange(len(words)), draw.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return "".join(words)


@mutator
def replace_by_the_same_kind(text: str, seeds: Seeds, draw: random.Random) -> str:
    matches = [m for m in WORD.finditer(_code(text)) if m.lastgroup not in ("blank", "sign")]
    if not matches:
        return text
    match = draw.choice(matches)
    other = draw.choice(seeds.kinds.get(match.lastgroup or "", [match[0]]))
    return text[: match.start()] + other + text[match.end() :]


@mutator
def replace_by_a_neighbour(text: str, seeds: Seeds, draw: random.Random) -> str:
    """A word by another one of its kind in the same text: such texts are accepted most often."""
    matches = [m for m in WORD.finditer(_code(text)) if m.lastgroup not in ("blank", "sign")]
    if not matches:
        return text
    match = draw.choice(matches)
    other = draw.choice([m for m in matches if m.lastgroup == match.lastgroup])[0]
    return text[: match.start()] + other + text[match.end() :]


@mutator
def insert_piece(text: str, seeds: Seeds, draw: random.Random) -> str:
    words = list(seeds.split(text))
    words.insert(draw.randrange(len(words) + 1), draw.choice(PIECES))
    return "".join(words)


@mutator
def replace_by_piece(text: str, seeds: Seeds, draw: random.Random) -> str:
    words = list(seeds.split(text)) or [""]
    words[draw.randrange(len(words))] = draw.choice(PIECES)
    return "".join(words)


@mutator
def corner_number(text: str, seeds: Seeds, draw: random.Random) -> str:
    return _one(_NUMBER, text, draw, lambda m: draw.choice(NUMBERS) * draw.choice((1,) * 40 + (2_000,)))


@mutator
def corner_dtype(text: str, seeds: Seeds, draw: random.Random) -> str:
    """One dtype, or each of the text, so that it may still type-check."""
    dtype = draw.choice(DTYPES)
    if draw.random() < 0.4:
        return _one(_DTYPE, text, draw, lambda m: dtype)
    dtypes = sorted(set(_DTYPE.findall(text)))
    old = draw.choice(dtypes) if dtypes else None
    return text if old is None else re.sub(rf"\b{old}\b", lambda m: dtype, text)


@mutator
def corner_shape(text: str, seeds: Seeds, draw: random.Random) -> str:
    """One shape, or each that is the same."""
    shape = draw.choice(SHAPES)
    shapes = _SHAPE.findall(text)
    if shapes and draw.random() < 0.5:
        return text.replace(draw.choice(shapes), shape)
    return _one(_SHAPE, text, draw, lambda m: shape)


@mutator
def change_dimensions(text: str, seeds: Seeds, draw: random.Random) -> str:
    """Another rank: a dimension more, one fewer, or two exchanged."""

    def change(match: re.Match[str]) -> str:
        dims = [d for d in match[0][1:-1].replace(" ", "").split(",") if d]
        kind = draw.randrange(3)
        if kind == 0 or not dims:
            dims.insert(draw.randrange(len(dims) + 1), draw.choice(("0", "1", "2", "3", "?", "7")))
        elif kind == 1:
            del dims[draw.randrange(len(dims))]
        else:
            draw.shuffle(dims)
        return f"({', '.join(dims)})"

    return _one(_SHAPE, text, draw, change)


@mutator
def wrong_attribute(text: str, seeds: Seeds, draw: random.Random) -> str:
    return _one(_ATTRIBUTE, _code(text), draw, lambda m: f"{m[1]}={draw.choice(ATTRIBUTES)}") + text[len(_code(text)) :]


@mutator
def other_operator(text: str, seeds: Seeds, draw: random.Random) -> str:
    """An operator by any other, with its attributes or without."""
    return _one(_NAME, _code(text), draw, lambda m: draw.choice(seeds.kinds["name"])) + text[len(_code(text)) :]


@mutator
def drop_attribute(text: str, seeds: Seeds, draw: random.Random) -> str:
    return _one(re.compile(r", \w+=(\[[^\]]*\]|\"[^\"\n]*\"|[\w.+-]+)"), text, draw, lambda m: "")


@mutator
def change_comment(text: str, seeds: Seeds, draw: random.Random) -> str:
    """Type comments removed, exchanged, or for another type."""
    kind = draw.randrange(4)
    if kind == 0:
        return _COMMENT.sub("", text)
    if kind == 1:
        return _one(_COMMENT, text, draw, lambda m: "")
    comment = f" /* ty={draw.choice((*DTYPES, *seeds.kinds['type'], '()', 'fn () -> int32', '_', 'Nothing[int32]'))} */"
    if kind == 2 and _COMMENT.search(text):
        return _one(_COMMENT, text, draw, lambda m: comment)
    return _one(re.compile(r"\)|\b(?=[;\n])"), text, draw, lambda m: m[0] + comment)


@mutator
def change_annotation(text: str, seeds: Seeds, draw: random.Random) -> str:
    """An annotation left out, or put where none is."""
    if draw.random() < 0.6:
        return _one(re.compile(r"(?<=\w): (?:Tensor\[\([^()]*\), \w+\]|\w+(?:\[\w*\])?)"), text, draw, lambda m: "")
    annotation = draw.choice((*DTYPES, *seeds.kinds["type"], "_", "(int32, bool)", "fn () -> int32"))
    return _one(re.compile(r"%\w+(?=[,) =])"), text, draw, lambda m: f"{m[0]}: {annotation}")


@mutator
def rename(text: str, seeds: Seeds, draw: random.Random) -> str:
    """A variable or function called otherwise throughout, maybe as another is called already."""
    names = sorted(set(re.findall(r"[%@][A-Za-z_]\w*", text)))
    if not names:
        return text
    old = draw.choice(names)
    new = draw.choice(
        (*names, old[0] + "x", old[0] + "a.0", old[0] + "a/b:0", old[0] + "_", old[0] + "fn", old[0] + "x1", "%0")
    )
    return re.sub(rf"{old}\b", lambda m: new, text)


@mutator
def splice(text: str, seeds: Seeds, draw: random.Random) -> str:
    """The beginning of the text and the end of another one."""
    words, others = seeds.split(text), seeds.split(draw.choice(seeds.texts))
    return "".join(words[: draw.randrange(len(words) + 1)] + others[draw.randrange(len(others) + 1) :])


@mutator
def join_definitions(text: str, seeds: Seeds, draw: random.Random) -> str:
    """The definitions of another text behind those of this one."""
    other = re.sub(r"#\[version[^\n]*\n", "", _code(draw.choice(seeds.texts)))
    return (
        _code(text)
        + "\n"
        + (other if draw.random() < 0.3 else other.replace("@main", "@other"))
        + text[len(_code(text)) :]
    )


@mutator
def move_line(text: str, seeds: Seeds, draw: random.Random) -> str:
    """A line left out, doubled, moved, or taken from another text."""
    lines = text.split("\n")
    line_index, to = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        del lines[line_index]
    elif kind == 1:
        lines.insert(to, lines[line_index])
    elif kind == 2:
        lines.insert(to, lines.pop(line_index))
    else:
        lines.insert(to, draw.choice(_code(draw.choice(seeds.texts)).split("\n")))
    return "\n".join(lines)


@mutator
def truncate(text: str, seeds: Seeds, draw: random.Random) -> str:
    offset = draw.randrange(len(text) + 1)
    return text[:offset] if draw.random() < 0.7 else text[offset:]


@mutator
def change_characters(text: str, seeds: Seeds, draw: random.Random) -> str:
    """One to three characters left out, put in, exchanged, or with a bit turned."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        offset = draw.randrange(len(text) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            text = text[:offset] + text[offset + 1 :]
        elif kind == 1:
            text = text[:offset] + draw.choice(CHARACTERS) + text[offset:]
        elif kind == 2:
            text = text[:offset] + draw.choice(CHARACTERS) + text[offset + 1 :]
        elif offset < len(text):
            text = text[:offset] + chr(ord(text[offset]) ^ 1 << draw.randrange(7)) + text[offset + 1 :]
    return text


@mutator
def nest(text: str, seeds: Seeds, draw: random.Random) -> str:
    """A word within many brackets, functions, branches …"""
    before, after = draw.choice(NESTS)
    matches = [
        m for m in WORD.finditer(_code(text)) if m.lastgroup in ("variable", "graph", "number", "name", "dtype", "type")
    ]
    if not matches:
        return text
    match, depth = draw.choice(matches), draw.choice((1, 1, 2, 3, 40, 300))
    return text[: match.start()] + before * depth + match[0] + after * depth + text[match.end() :]


@mutator
def change_metadata(text: str, seeds: Seeds, draw: random.Random) -> str:
    """A value of the metadata section by another one, of it or of any kind; or one added to a text that has none."""
    code = _code(text)
    if len(code) == len(text):
        others = [t for t in seeds.texts if "#[metadata]" in t]
        other = draw.choice(others)
        return code + "\n" + other[len(_code(other)) :]
    section = text[len(code) :]
    values = _JSON_VALUE.findall(section)
    other = draw.choice(values) if values and draw.random() < 0.4 else draw.choice(JSON_VALUES)
    return code + _one(_JSON_VALUE, section, draw, lambda m: other)


@mutator
def drop_metadata(text: str, seeds: Seeds, draw: random.Random) -> str:
    """References that refer to nothing."""
    return _code(text) if "#[metadata]" in text else delete_words(text, seeds, draw)
