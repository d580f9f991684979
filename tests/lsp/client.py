"""A client of the language server, over its standard streams, as an editor is one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

URI = "file:///net.relay"


class Client:
    """One run of `irtool lsp`, with a document in it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "irtool", "lsp", *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
            )
        self.number = 0
        self.version = 0
        self.notifications: list[dict[str, Any]] = []
        """Notifications that nobody has waited for yet."""
        self.capabilities = self.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": {"general": {"positionEncodings": ["utf-16"]}}},
        )["capabilities"]
        self.tell("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.ask("shutdown", None)
            self.tell("exit", None)
            assert self.process.wait(20) == 0, self.errors.read_text()
        self.process.kill()
        self.process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        size = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        assert size, f"the server has ended: {self.errors.read_text()}"
        return json.loads(self.process.stdout.read(size))

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The answer to a request. Raises ValueError with the message of a refusal."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise ValueError(message["error"]["message"])
                return message["result"]
            self.notifications.append(message)

    def wait_for(self, method: str) -> Any:
        """The parameters of the next notification of that name."""
        while True:
            for n, message in enumerate(self.notifications):
                if message.get("method") == method:
                    return self.notifications.pop(n)["params"]
            self.notifications.append(self._receive())

    def open(self, text: str) -> list[dict[str, Any]]:
        """Opens the document; what is wrong with it."""
        self.version = 1
        self.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": URI, "languageId": "relay", "version": 1, "text": text}},
        )
        return self.wait_for("textDocument/publishDiagnostics")["diagnostics"]

    def change(self, text: str) -> None:
        self.version += 1
        self.tell(
            "textDocument/didChange",
            {"textDocument": {"uri": URI, "version": self.version}, "contentChanges": [{"text": text}]},
        )

    def at(self, what: str, line: int, character: int, **more: Any) -> Any:
        """The answer to a request about a place of the document."""
        place = {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}
        return self.ask(f"textDocument/{what}", {**place, **more})


def places(answer: list[dict[str, Any]]) -> list[tuple[int, int, int, int]]:
    """Ranges as numbers: line and character of the beginning and the end."""
    ranges = (a.get("range", a) for a in answer)
    return [(r["start"]["line"], r["start"]["character"], r["end"]["line"], r["end"]["character"]) for r in ranges]
