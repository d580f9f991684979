"""Options whose value may be left out: `--time-passes` or `--time-passes=json`."""

from __future__ import annotations

import click


class OptionalValues(click.Command):
    """A command that takes the value of such an option only after `=`, never from the next word.

    click would read `opt --time-passes net.relay` as an option with the value `net.relay`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Writes the value that stands for "left out" behind such options, then parses as ever."""
        optional = {
            name: f"{name}={option.flag_value}"
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag and isinstance(option.flag_value, str | int)
            for name in option.opts
        }
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*(optional.get(a, a) for a in args[:end]), *args[end:]])
