"""A command judges."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...diagnostics import ToolError
from ...files import temporary_folder
from ...isolation import irtool_command
from ...printer import to_text
from ..case import Case

_BUG = 3
"""The exit code of irtool where it fails by its own fault."""


@dataclass
class Accepted:
    """A command that is given a file with the module says so: with the exit code 0; of `crash`, with that of a bug in irtool or
    by being ended by a signal; of `pattern`, by what it writes.

    `{}` in the words stands for the file, which otherwise comes last. `irtool` as the first word is this
    irtool. A command that takes longer than `timeout` seconds is ended, and says no.
    """

    words: Sequence[str]
    crash: bool = False
    pattern: re.Pattern[str] | None = None
    timeout: float = 60.0
    known: dict[str, bool] = field(default_factory=dict)

    def __call__(self, case: Case) -> bool:
        text = to_text(case.module)
        if text not in self.known:
            self.known[text] = self._is_accepted(text)
        return self.known[text]

    def _is_accepted(self, text: str) -> bool:
        with temporary_folder() as folder:
            path = os.path.join(folder, "candidate.relay")
            with open(path, "w", encoding="utf-8", errors="surrogatepass") as out:
                out.write(text)
            code, printed = self._run(path)
        if self.pattern is not None:
            return self.pattern.search(printed) is not None
        if self.crash:
            return code == _BUG or (code is not None and code < 0)
        return code == 0

    def _run(self, path: str) -> tuple[int | None, str]:
        command = [w.replace("{}", path) for w in self.words]
        command += [path] if command == list(self.words) else []
        if command[0] == "irtool":
            command = irtool_command(*command[1:]) or command
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, ""
        except OSError as error:
            raise ToolError(f"{command[0]} could not be run: {error.strerror}") from None
        return done.returncode, done.stdout + done.stderr

    def describe(self) -> str:
        """The finding, for messages."""
        return "the command accepts it"
