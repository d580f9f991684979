"""Any text at all: a module, or diagnostics. Never an exception of another kind, never a hang."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.diagnostics import IrError, render
from irtool.parser import parse_expr, read_with_diagnostics
from irtool.parser.tables import load

SAMPLES = Path(__file__).parents[2] / "samples"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "parse.jsonl.gz"
HEAD = '#[version = "0.0.5"]\n'

OWN = [
    HEAD
    + "def @main(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 2), float32] {\n  %0 = add(%x, 1f);\n  nn.relu(%0)\n}\n",
    HEAD + "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\ndef @f[A](%l: List[A]) -> List[A] {\n  match (%l) {\n"
    "    Cons(%x, %y) => { Cons(%x, %y) },\n    Nil => Nil,\n  }\n}\n",
    HEAD + 'def @main(%a: bool, %b.c/d:0: (int32, ref(int8)), Primitive=1, s="a\\n") {\n  let %y: int32 = %b.c/d:0.0;\n'
    "  if (%a) { ref_read(ref(%y)) } else { %y * 2 + -1 }\n}\n",
    HEAD
    + "def @main() { meta[relay.Constant][0] /* ty=int32 */ }\n#[metadata]\n"
    + json.dumps(
        {
            "root": 1,
            "nodes": [
                {"type_key": ""},
                {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
                {"type_key": "Array", "data": [3]},
                {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}},
            ],
            "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAgAQAEAAAAAAAAAAEAAAA="],
        }
    ),
    "fn (%x) {\n  let %1 = log(%x)\n  mul(%1, %x)\n}",
]
PIECES = [
    "def ",
    "let ",
    "%0",
    "%x",
    "@f",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "=",
    "==",
    "->",
    "=>",
    '"',
    "'",
    "/*",
    "*/",
    "//",
    "#",
    "#[metadata]",
    "meta[relay.Constant][0]",
    "meta[",
    "1",
    "-",
    "1e",
    "1f",
    "nan",
    "inff",
    "i64",
    "99999999999999999999",
    "fn",
    "if (",
    "else",
    "match",
    "type ",
    "extern ",
    "ref(",
    "free_var ",
    "_",
    "?",
    ".",
    ".0",
    "\x00",
    "ÿ",
    "\u2028",
    "é",
    "%a.b:0",
    "Tensor[",
    "float32x4",
    "\n",
    "None",
    "Tensor[(99999999999999,), float32]",
    "VirtualDevice(",
    "*",
    "/",
    "<",
    ">",
    "!",
    "&",
    "\\",
    "%%",
    "@@",
    "True",
    "primfn(",
    '"data": [',
    "{}",
    '"0"',
    "�",
]


def texts() -> list[str]:
    sources = OWN + [p.read_text() for p in sorted(SAMPLES.glob("*.relay"))]
    if CORPUS.exists():
        with gzip.open(CORPUS, "rt", encoding="utf-8") as file:
            sources += [json.loads(line)["source"] for line in file]
    return [t for t in sources if len(t) < 10_000]


def check(text: str) -> None:
    """Reads a text in every way."""
    module, diagnostics = read_with_diagnostics(text, "f.relay")
    assert (module is None) == any(d.level == "error" for d in diagnostics)
    render(diagnostics)
    try:
        parse_expr(text)
    except IrError as error:
        assert error.diagnostics
        render(error)


def mutate(text: str, pool: list[str], r: random.Random) -> str:
    for _ in range(r.choice([1, 1, 1, 2, 3, 8])):
        offset, kind = r.randrange(len(text) + 1), r.random()
        if kind < 0.25:
            text = text[:offset] + text[offset + r.choice([1, 1, 2, 5, 20, 100]) :]
        elif kind < 0.6:
            text = text[:offset] + r.choice(PIECES) + text[offset:]
        elif kind < 0.7:
            text = text[:offset]
        elif kind < 0.85:
            to = r.randrange(len(text) + 1)
            text = text[:to] + text[offset : offset + r.choice([1, 5, 30, 200])] + text[to:]
        else:
            other = r.choice(pool)
            start = r.randrange(len(other) + 1)
            text = text[:offset] + other[start : start + r.choice([1, 10, 100])] + text[offset:]
    return text


@pytest.mark.parametrize("seed", range(8))
def test_mutations_of_samples(seed):
    pool = texts()
    r = random.Random(seed)
    for _ in range(500):
        check(mutate(r.choice(pool), pool, r))


def test_every_cut_of_a_text():
    for text in OWN:
        for end in range(len(text)):
            check(text[:end])


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text(text):
    check(text)
    check(HEAD + text)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes(data):
    check(data.decode("utf-8", "surrogateescape"))
    check(data.decode("latin-1"))


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from(["", " "]))
@settings(max_examples=300, deadline=None)
def test_any_words(pieces, between):
    check(between.join(pieces))
    check(HEAD + "def @main(%x: int32) {" + between.join(pieces) + "}")


def damage(graph: dict, keys: list[str], r: random.Random) -> None:
    """Changes something in a metadata section that stays JSON."""
    nodes = graph["nodes"]
    node, kind = r.choice(nodes), r.random()
    if kind < 0.35 and node.get("attrs"):
        values = [str(r.randrange(len(nodes) + 2)), "-1", "x", "", "1e999", "9" * 30, None, 3, []]
        node["attrs"][r.choice(list(node["attrs"]))] = r.choice(values)
    elif kind < 0.5:
        node["type_key"] = r.choice([*keys, "", None, 1])
    elif kind < 0.65 and node.get("data"):
        node["data"][r.randrange(len(node["data"]))] = r.choice([r.randrange(len(nodes) + 2), -1, 10**9, "a", None])
    elif kind < 0.8 and node:
        node.pop(r.choice(list(node)))
    elif kind < 0.85 and graph["b64ndarrays"]:
        graph["b64ndarrays"][0] = r.choice(["", "AAAA", None, 3, str(graph["b64ndarrays"][0])[:-4]])
    elif kind < 0.9:
        graph["root"] = r.choice([0, 1, 2, -1, "1", "x", None, 10**9])
    else:
        node["repr_str"] = r.choice(["x", 3, None])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_metadata(seed):
    pool = [t.split("#[metadata]") for t in texts() if t.count("#[metadata]") == 1]
    keys = sorted({n["type_key"] for _, section in pool for n in json.loads(section)["nodes"]})
    r = random.Random(seed)
    for _ in range(300):
        code, section = r.choice(pool)
        graph = json.loads(section)
        for _ in range(r.choice([1, 1, 2, 4])):
            damage(graph, keys, r)
        check(f"{code}#[metadata]\n{json.dumps(graph)}")


class Grammar:
    """Draws texts from the grammar: syntactically right, whatever the names in them mean."""

    WORDS = {
        "LOCAL": ["%x", "%y"],
        "GRAPH": ["%0", "%1"],
        "GLOBAL": ["@f", "@g"],
        "NAME": ["add", "nn.relu", "List", "Cons", "A", "axis", "int32", "float32"],
        "CUSTOM": ["custom[posites2]32"],
        "ADDRESS": ["id=7f"],
        "PLAIN_CALL": ["add(%x, %y)", "Cons(%0)"],
        "NUMBER": ["1", "2i64", "0.5f", "nanf"],
        "STRING": ['"s"', "'t'"],
        "META": ["meta[relay.Constant][0]", "meta[tir.Var][1]"],
        "PROJECTION": [".0", ".1"],
        "TENSOR_TYPE": ["Tensor[(1, 2), float32]", "Tensor[(), bool]"],
        "INT_LIST": ["[1, 2]", "[-3]"],
        "VERSION": [HEAD.strip()],
        "LENGTHS": ['#[lengths = "1<=n<=8, m=2|4"]'],
        "MATCH": ["match", "match?"],
    }

    def __init__(self, text: str) -> None:
        from lark import Lark

        self.rules: dict[str, list[list[str]]] = {}
        for rule in Lark(text, parser="lalr", start=["module", "expression"], maybe_placeholders=False).rules:
            self.rules.setdefault(rule.origin.name, []).append([s.name for s in rule.expansion])
        self.words = {kind: [word] for word, kind in load().fixed.items()} | self.WORDS
        self.depth = dict.fromkeys(self.words, 0)
        while True:
            known = len(self.depth)
            for name, alternatives in self.rules.items():
                ready = [a for a in alternatives if all(s in self.depth for s in a)]
                if ready and name not in self.depth:
                    self.depth[name] = 1 + min(max((self.depth[s] for s in a), default=0) for a in ready)
            if len(self.depth) == known:
                break

    def draw(self, start: str, r: random.Random, size: int) -> str:
        out: list[str] = []
        stack = [start]
        while stack:
            name = stack.pop()
            if name in self.words:
                out.append(r.choice(self.words[name]))
                continue
            alternatives = self.rules[name]
            if len(out) + len(stack) > size:
                cost = {i: max((self.depth[s] for s in a), default=0) for i, a in enumerate(alternatives)}
                least = min(cost.values())
                alternatives = [a for i, a in enumerate(alternatives) if cost[i] == least]
            stack.extend(reversed(r.choice(alternatives)))
        return " ".join(out)


def test_texts_drawn_from_the_grammar():
    """They have no syntax errors: what is said of them is about names, numbers and attributes only."""
    from importlib import resources

    grammar = Grammar(resources.files("irtool.parser").joinpath("relay.lark").read_text("utf-8"))
    r = random.Random(0)
    read = 0
    for _ in range(600):
        text = grammar.draw(r.choice(["module", "expression"]), r, 40)
        check(text)
        _, diagnostics = read_with_diagnostics(text if text.startswith("#") else f"{HEAD}{text}")
        syntax = [d.message for d in diagnostics if d.message.startswith("expected") or "cannot stand" in d.message]
        assert not syntax, (text, syntax)
        read += 1
    assert read == 600
