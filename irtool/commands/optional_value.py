"""Options whose value may be left out: `--time-passes` or `--time-passes=json`."""

from __future__ import annotations

import click

from .wrong_usage import Command


class OptionalValues(Command):
    """A command that takes the value of such an option after `=`; from the next word only where that is a number.

    click would read `opt --time-passes net.relay` as an option with the value `net.relay`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Writes the value, or a mark for "left out", behind such options, then parses as ever."""
        optional = {
            name: option
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag and isinstance(option.flag_value, str | int)
            for name in option.opts
        }
        end = args.index("--") if "--" in args else len(args)
        before: list[str] = []
        for a in args[:end]:
            option = optional.get(before[-1]) if before else None
            if option is not None and isinstance(option.type, click.IntRange) and a.isdecimal():
                before[-1] += f"={a}"
            else:
                before.append(a)
        written = [f"{a}={optional[a].flag_value}" if a in optional else a for a in before]
        return super().parse_args(ctx, [*written, *args[end:]])
