"""Completion in shells: click's own mechanism, with the values of `--option=value` put right.

bash splits words at `=` before it asks, and zsh and fish replace the whole word, option and all.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

VARIABLE = "_IRTOOL_COMPLETE"
"""The environment variable of the shell's request."""


class _Bash(BashComplete):
    @staticmethod
    def _check_version() -> None:
        """Does nothing: the script checks the version of bash itself; no bash is started to ask."""

    def get_completion_args(self) -> tuple[list[str], str]:
        word_index = int(os.environ["COMP_CWORD"])
        typed = split_arg_string(os.environ["COMP_WORDS"])[: word_index + 1]
        whole: list[str] = []
        joins = False
        for word in typed:
            if whole and (word == "=" or joins):
                whole[-1] += word
            else:
                whole.append(word)
            joins = word == "="
        complete = whole[1:] if len(typed) <= word_index and not joins else whole[1:-1]
        return complete, "" if len(typed) <= word_index and not joins else whole[-1]


class _WholeWords(ShellComplete):
    """A shell that replaces all of `--option=val` by a completion."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        result = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not (equals and option.startswith("-")):
            return result
        return [CompletionItem(f"{option}={i.value}", i.type, i.help) for i in result]


class _Zsh(_WholeWords, ZshComplete):
    pass


class _Fish(_WholeWords, FishComplete):
    pass


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
"""The shells that can be told how to complete."""


def script(group: click.Group, shell: str) -> str:
    """The script that completes irtool's arguments in that shell."""
    return SHELLS[shell](group, {}, "irtool", VARIABLE).source()


def complete(group: click.Group, instruction: str) -> int:
    """Answers a request of a shell, `bash_complete` or `bash_source`; returns the exit code."""
    shell, _, action = instruction.partition("_")
    if shell not in SHELLS or action not in ("source", "complete"):
        click.echo(f"error: {VARIABLE}={instruction} is not SHELL_complete of {', '.join(SHELLS)}", err=True)
        return 2
    asked = SHELLS[shell](group, {}, "irtool", VARIABLE)
    click.echo(asked.source() if action == "source" else asked.complete(), nl=action == "complete")
    return 0
