"""Operators of two tensors that are broadcast against each other."""

from __future__ import annotations

from typing import ClassVar

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


class Binary(Form):
    """The same operator, with the same broadcasting."""

    kinds: ClassVar[str] = "float int uint bool"

    def write(self, site: RelaxSite) -> Text:
        kind = site.type(0).dtype.rstrip("0123456789").removeprefix("b") if site.type(0).dtype != "bool" else "bool"
        site.require(kind in self.kinds.split(), f"Relax's operator takes no {site.type(0).dtype}")
        return invocation(self.relax, *site.args)


for _name in ["add", "subtract", "multiply", "maximum", "minimum"]:
    row(Binary, _name, f"R.{_name}", kinds="float int uint")
for _name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
    row(Binary, _name, f"R.{_name}", kinds="float int uint")
for _name in ["logical_and", "logical_or", "logical_xor"]:
    row(Binary, _name, f"R.{_name}", kinds="bool")
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    row(Binary, _name, f"R.{_name}", kinds="int uint")
for _name in ["left_shift", "right_shift"]:
    row(Binary, _name, f"R.{_name}", kinds="int uint")
row(Binary, "power", "R.power", kinds="float")


class Quotient(Binary):
    """Of integers only where the divisor is known: TVM's code traps on a divisor of zero, where Relay's gives 0."""

    kinds = "float int uint"

    def write(self, site: RelaxSite) -> Text:
        if not site.is_float():
            divisor = site.constant(1)
            site.require(bool(divisor.all()) and not bool((divisor == -1).any()), "TVM's code traps on such a divisor")
        return super().write(site)


row(Quotient, "divide", "R.divide")
row(Quotient, "floor_divide", "R.floor_divide")
row(Quotient, "floor_mod", "R.floor_mod", kinds="int uint")


@form("where", "R.where")
class Where(Form):
    """The condition is of bools; other conditions are compared with zero."""

    def write(self, site: RelaxSite) -> Text:
        cond = site.args[0]
        dtype = site.type(0).dtype
        if dtype != "bool":
            cond = Text(f"R.not_equal({cond}, {invocation('R.const', 0, dtype)})")
        return invocation("R.where", cond, *site.args[1:])
