"""What is wrong with texts: the codes that reading gives."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0101")
class UnexpectedWord(Code):
    """A word or sign that the grammar does not allow at this place.

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
    """A character that Relay text does not have.

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
    """A comment or a string without an end.

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
    """An operator that irtool does not know.

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
    """A variable that nothing binds at this place.

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
    """A graph binding (`%0`) that is used before it is given a value.

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
    """A global function that the module does not define.

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
    """A type that is neither built in nor defined in the text.

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
    """A pattern with a constructor that no type defines."""

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
    """A function, a type or a constructor with a name that is taken.

    Functions, types and constructors of a module have different names.
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
    """A version line that irtool does not read.

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
    """An argument or attribute in a place where none can be.

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
    """A type whose parts are not what a type is made of.

    The dimensions of a tensor are numbers that are not negative, or `?`; its element type is a dtype such as `float32`, `int8` or `bool`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), flaot32]) {
  %x
}
"""


@code("E0114")
class NumberOutOfRange(Code):
    """A number that its type cannot hold.

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
    """A metadata section that cannot be used.

    The section `#[metadata]` at the end of a text is JSON as TVM writes it. It is damaged where it was cut off, edited or mixed up
    with that of another text.
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
    """A lowered function (`primfn`) whose text is no loop nest, or one that is not well formed.

    Every name stands below what declares it, operands have equal dtypes, and indices are within their buffers. What other
    compilers write and nests here do not have (threads, calls of packed functions) is no mistake: such a function is kept as text.
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


@code("W0101")
class NoVersionLine(Code):
    """A text without a version line, or with that of an earlier version.

    Text is read as version 0.0.5. Write `#[version = "0.0.5"]` in the first line.
    """

    example = """\
def @main(%x: float32) {
  %x
}
"""


@code("W0102")
class BareExpression(Code):
    """A text that is an expression and not a module: it becomes the body of `@main`."""

    example = """\
#[version = "0.0.5"]
add(1f, 2f)
"""


@code("W0103")
class MissingMetadata(Code):
    """A text that refers to a metadata section which it does not have.

    Constants of unknown value are printed and transformed, with the type of the comment behind them. To run or build such a module,
    say with `--missing-constants` what they are.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)
}
"""


@code("W0104")
class LoweredFunction(Code):
    """A lowered function (`primfn`) that is kept as text, or is not there.

    Loop nests are read, run and compiled. One that has what nests here have not (threads, calls of packed functions) is kept as
    it stands; its buffers say the types of a call. One that the text calls but does not have is typed by the comments at its calls.
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
    """A text with a version line but without any `;`: lines end bindings, as in tutorials."""

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
    """A reference to a record of the metadata section which the text does not have: attributes, a device, a dimension.

    It is kept and printed as it was. The result of an operator whose attributes are missing has no type.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 6, 6), float32], %r: Tensor[(3, 5), float32]) {
  vision.roi_pool(%x, %r, meta[relay.attrs.ROIPoolAttrs][0]) /* ty=Tensor[(3, 3, 1, 1), float32] */
}
"""
