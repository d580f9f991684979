"""Errors of texts: the codes that reading gives."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0101")
class UnexpectedWord(Code):
    """A token that the grammar does not allow here.

    The message says what could stand there. Often the mistake is just before: a missing comma, a missing `;`, a bracket that is not closed.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  add(%x %x)
}
"""


@code("E0102")
class StrayCharacter(Code):
    """A character that is not part of Relay's syntax.

    Quotation marks and dashes of word processors are the usual case. Comments and strings may contain any character.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  add(%x, “%x”)
}
"""


@code("E0103")
class Unterminated(Code):
    """An unterminated comment or string.

    Comments are closed by `*/`, strings by `"` on the same line.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  /* the sum
  add(%x, %x)
}
"""


@code("E0104")
class UnknownOperator(Code):
    """An unknown operator in a call.

    `irtool ops` lists the operators, those of plug-ins included (`--load FILE.py`). Constructors of data types are called without a
    module prefix and must be defined in the text.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  nn.rellu(%x)
}
"""


@code("E0105")
class UndefinedVariable(Code):
    """A variable that is not bound here.

    A variable is bound by a parameter, a `let` or a pattern, and is visible in the body of that function, `let` or clause only.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  add(%x, %y)
}
"""


@code("E0106")
class UndefinedBinding(Code):
    """A graph binding (`%0`) used before its definition.

    Bindings `%0 = …;` stand in front of what uses them. Unlike a `let`, they cannot be recursive.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  add(%x, %0)
}
"""


@code("E0107")
class UnknownFunction(Code):
    """An undefined global function.

    Define it, or declare its type alone: `extern def @f: fn (float32) -> float32`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  @helper(%x)
}
"""


@code("E0108")
class UnknownType(Code):
    """An unknown type: neither built in nor defined in the text.

    Built in are `Tensor[(2, 3), float32]`, scalars such as `int32`, tuples, functions and `ref(…)`; `type Name { … }` defines others.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Lisst[float32]) {
  %x
}
"""


@code("E0109")
class UnknownConstructor(Code):
    """A pattern with an undefined constructor."""

    example = """\
#[version = "0.0.5"]
type Option {
  Some(float32),
  None,
}

def @main(%x: Option) {
  match (%x) {
    Som(%a) => { %a },
    None => { 0f }
  }
}
"""


@code("E0110")
class DefinedTwice(Code):
    """A function, type, constructor, parameter or pattern variable with a name that is already in use.

    Functions, types and constructors of a module have different names, and so have the parameters of a function, its type parameters, and
    the variables of a pattern. A `let`, or a parameter of a function inside, may take the name of a variable outside.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  %x
}

def @main(%x: int32) {
  %x
}
"""


@code("E0111")
class UnknownVersion(Code):
    """An unsupported version line.

    The versions of the text format are 0.0.5 and 0.0.4.
    """

    example = """\
#[version = "0.1.0"]
def @main(%x: float32) {
  %x
}
"""


@code("E0112")
class MisplacedArgument(Code):
    """A misplaced argument or attribute.

    Arguments come first, then attributes as `name=value`, each once.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  nn.softmax(axis=0, %x)
}
"""


@code("E0113")
class MalformedType(Code):
    """A malformed type in the text.

    The dimensions of a tensor are non-negative integers or `?`; its element type is a dtype such as `float32`, `int8` or `bool`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), flaot32]) {
  %x
}
"""


@code("E0114")
class NumberOutOfRange(Code):
    """A number outside the range of its type.

    The suffix of a number is its type: `1i64` is an int64, `1f` a float32. A whole number without a suffix is an int32, or an int64 where it is larger.
    """

    example = """\
#[version = "0.0.5"]
def @main() {
  40000i16
}
"""


@code("E0115")
class DamagedMetadata(Code):
    """A damaged metadata section.

    The section `#[metadata]` at the end of a text is JSON as TVM writes it. Typical causes of damage are truncation, editing,
    and a section from another text.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(%x, meta[relay.Constant][0])
}

#[metadata]
{"root": 1, "nodes": [{"type_key": ""}
"""


@code("E0116")
class MalformedLoopNest(Code):
    """A malformed lowered function (`primfn`).

    Names must be declared before use, operands must have equal dtypes, and indices must be within their buffers. Constructs
    of other compilers (threads, calls of packed functions) are not errors: such a function is kept as text.
    """

    example = """\
#[version = "0.0.5"]
@double = primfn(x_1: handle, out_1: handle) -> ()
  attr = {"global_symbol": "double"}
  buffers = {x: Buffer(x_2: Pointer(float32), float32, [4], []),
             out: Buffer(out_2: Pointer(float32), float32, [4], [])}
  buffer_map = {x_1: x, out_1: out} {
  for (i: int32, 0, 4) {
    out[i] = (x[j]*2f32)
  }
}
"""


@code("E0117")
class MalformedLengths(Code):
    """A malformed declaration of lengths that only a run knows.

    `#[lengths = "1<=seq<=512, 4<=h<=256:4, batch=1|4|8, steps"]` declares a length with bounds, one in steps of 4, one with few values,
    and one without an upper bound. Types and attributes below have them by their names, and formulas of them: `Tensor[(2 * seq, h / 4)]`.
    """

    example = """\
#[version = "0.0.5"]
#[lengths = "512<=seq<=1"]
def @main(%x: Tensor[(seq, 3), float32]) {
  %x
}
"""


@code("W0101")
class NoVersionLine(Code):
    """A missing version line, or one of an earlier version.

    Text is read as version 0.0.5. Write `#[version = "0.0.5"]` in the first line.
    """

    example = """\
def @main(%x: float32) {
  %x
}
"""


@code("W0102")
class BareExpression(Code):
    """An expression instead of a module: it becomes the body of `@main`."""

    example = """\
#[version = "0.0.5"]
add(1f, 2f)
"""


@code("W0103")
class MissingMetadata(Code):
    """A reference to a missing metadata section.

    Constants of unknown value are printed and transformed, with the type in the comment after them. To run or build such a
    module, specify their values with `--missing-constants`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)
}
"""


@code("W0104")
class LoweredFunction(Code):
    """A lowered function (`primfn`) that is kept as text, or is missing.

    Loop nests are parsed, run and compiled. A function with unsupported constructs (threads, calls of packed functions) is kept
    unchanged; its buffers give the types of a call. A missing function is typed by the comments at its calls.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  %0 = (%x,);
  call_lowered(@f, %0) /* ty=Tensor[(2), float32] */
}
"""


@code("W0105")
class TutorialDialect(Code):
    """Text with a version line but without any `;`: ends of lines end bindings, as in tutorials."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  %0 = add(%x, %x)
  %1 = mul(%0, %x)
  %1
}
"""


@code("W0106")
class UnknownRecord(Code):
    """A reference to a missing record of the metadata section: attributes, a device, a dimension.

    The reference is kept and printed unchanged. The result of an operator with missing attributes has no type.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 6, 6), float32], %r: Tensor[(3, 5), float32]) {
  vision.roi_pool(%x, %r, meta[relay.attrs.ROIPoolAttrs][0]) /* ty=Tensor[(3, 3, 1, 1), float32] */
}
"""


@code("W0107")
class FromPrelude(Code):
    """A text that uses types or functions of TVM's prelude without defining them.

    TVM's modules began with `List`, `Option`, `Tree`, `@map`, `@length` and others. The text gets those that it uses, as far as it has
    no definitions of its own. `--prelude` says that this is meant, and nothing is said.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  @length(Cons(%x, Nil))
}
"""
