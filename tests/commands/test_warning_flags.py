"""`-Werror`, `-Werror=CODE`, `-Wno-error=CODE` and `-Wno-CODE`: levels of warnings, the same for every command and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtool.commands.warning_flags import WarningFlags
from irtool.diagnostics import Code, IrError, UsageError
from irtool.plugin.codes import codes
from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool

WARNINGS = [cls for cls in codes if cls.name.startswith("W")]
UNVERSIONED = "def @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.relay").write_text(UNVERSIONED)
    with plugins_kept():
        yield


def run_example(cls: type[Code], *flags: str) -> tuple[int, str, str]:
    """The command of a code's example with further flags."""
    Path("example.relay").write_text(cls.example)
    Path("plugin.py").write_text(cls.plugin)
    values = {"%s": "example.relay", "%p": "plugin.py", "%t": "out"}
    return irtool(*(re.sub("%[spt]", lambda m: values[m.group()], w) for w in cls.command.split()), *flags)


@pytest.mark.parametrize("cls", WARNINGS, ids=lambda c: c.name)
def test_each_warning_can_be_an_error_or_silent(cls: type[Code]) -> None:
    code, _, err = run_example(cls, f"-Werror={cls.name}")
    assert code == 1 and f"error[{cls.name}]: " in err and "-Werror makes an error of this warning" in err
    assert not Path("out").exists()
    code, _, err = run_example(cls, f"-Wno-{cls.name}")
    assert code == 0 and cls.name not in err
    code, _, plain = run_example(cls)
    assert code == 0 and f"[{cls.name}]: " in plain
    code, _, err = run_example(cls, f"-Werror={cls.name}", f"-Wno-error={cls.name}")
    assert (code, err) == (0, plain)


def test_a_code_goes_before_all_and_the_later_flag_before_the_earlier() -> None:
    flags = WarningFlags.parse(["no-error=W0101", "error", "error=W0102", "no-W0102"])
    assert [flags.level(c) for c in ("W0101", "W0102", "W0103", "")] == ["warning", "", "error", "error"]
    assert WarningFlags.parse(["no-W0101", "W0101"]).level("W0101") == "warning"
    assert WarningFlags.parse(["error", "no-error"]).level("") == "warning"


def test_open_types_are_warnings_that_may_be_errors() -> None:
    Path("open.relay").write_text('#[version = "0.0.5"]\ndef @main(%x) {\n  nn.relu(%x)\n}\n')
    assert irtool("check", "open.relay")[0] == 0
    code, _, err = irtool("check", "open.relay", "-Werror=E0304")
    assert code == 1 and "error[E0304]" in err
    assert "E0304" not in irtool("check", "open.relay", "-Wno-E0304")[2]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-WE0104", "-W is about warnings, and E0104 is always an error"),
        ("-Werror=W9999", "unknown code W9999"),
        ("-Wno-", "-Wno-: the flags are -Werror, -Wno-error, -Werror=CODE, -Wno-error=CODE, -Wno-CODE and -WCODE"),
        ("-Werrors", "unknown code errors"),
    ],
)
def test_wrong_flags(flag: str, message: str) -> None:
    code, _, err = irtool("check", "net.relay", flag)
    assert code == 2 and f"error[E0014]: {message}" in err


def test_a_build_with_an_error_writes_nothing() -> None:
    for _ in range(2):  # the second one could come from the cache
        assert irtool("build", "net.relay", "--emit=c", "-o", "kept")[0] == 0
        code, _, err = irtool("build", "net.relay", "--emit=c", "-o", "out", "-Werror=W0101")
        assert code == 1 and "error[W0101]" in err and not Path("out").exists()
    assert irtool("build", "net.relay", "--emit=c", "-o", "out", "-Wno-W0101")[2] == ""


def test_warnings_in_reports() -> None:
    texts = ["note: kept", "net.relay:1:1: warning[W0101]: the text has no version line", "warning: of no code"]
    assert WarningFlags.parse(["no-W0101"]).printed(texts) == [texts[0], texts[2]]
    with pytest.raises(IrError, match="of no code") as raised:
        WarningFlags.parse(["error", "no-error=W0101"]).printed(texts)
    assert len(raised.value.diagnostics) == 1
    with pytest.raises(UsageError):
        WarningFlags.parse(["what?"])


def test_formats_of_check_have_the_level() -> None:
    assert '"error"' in irtool("check", "net.relay", "--format=sarif", "-Werror")[1]
    assert '"warning"' in irtool("check", "net.relay", "--format=sarif")[1]
