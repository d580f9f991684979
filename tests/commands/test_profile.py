"""`irtool profile`: tables and traces of logs, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import irtool

HEAD = "irtool-profile\t1\tnet\nhz\t1000000\nlost\t2\n"
KERNELS = (
    "kernel\t0\tnet_dense\tnn.dense, nn.relu\t1\tnet.relay:3:8\t\tnet.relay:4:3\t\n"
    "kernel\t1\tnet_exp\texp\t2\tm.onnx\texp_1\tm.onnx\texp_2\n"
)
EVENTS = "event\t0\t100\t400\nevent\t1\t400\t450\nevent\t1\t420\t470\n"
LOG = f"output of the program\n{HEAD}{KERNELS}{EVENTS}end\nmore output\n"


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "net.log"
    path.write_text(LOG)
    code, out, _ = irtool("profile", path)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "net: 3 calls of kernels in 400.000 µs"
    assert lines[1] == "2 earlier calls were lost: the buffer has room for 3"
    assert lines[4].split() == ["300.000", "75.0", "%", "█████████", "1", "300.000", "300.000", "net_dense"]
    assert lines[5].split()[-1] == "net_exp" and lines[5].split()[-4] == "2"
    assert "net.relay:3, 4" in irtool("profile", "--by=line", path)[1]
    assert "exp_1; exp_2" in irtool("profile", "--by=line", path)[1]
    shares = json.loads(irtool("profile", "--by=operator", "--json", path)[1])["shares"]
    assert [(s["label"], s["counts"], s["calls"]) for s in shares] == [("nn.dense, nn.relu", 300, 1), ("exp", 100, 2)]


def test_calls_at_the_same_time_have_tracks_of_their_own(tmp_path: Path) -> None:
    path, trace = tmp_path / "net.log", tmp_path / "trace.json"
    path.write_text(LOG)
    assert irtool("profile", path, "--format=perfetto", "-o", trace)[0] == 0
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"], e["tid"]) for e in events] == [
        ("nn.dense, nn.relu", 0.0, 300.0, 1),
        ("exp", 300.0, 50.0, 1),
        ("exp", 320.0, 50.0, 2),
    ]


def test_an_unknown_clock_counts(tmp_path: Path) -> None:
    path = tmp_path / "net.log"
    path.write_text(LOG.replace("1000000", "0"))
    assert irtool("profile", path)[1].startswith("net: 3 calls of kernels in 400 counts\n")


def test_no_calls(tmp_path: Path) -> None:
    path = tmp_path / "net.log"
    path.write_text(f"{HEAD}{KERNELS}end\n")
    assert irtool("profile", path)[1].startswith("net: 0 calls of kernels in 0.000 µs\n")


@pytest.mark.parametrize(
    "text, message",
    [
        ("hello\n", "has no log of a program that was compiled with -DNAME_PROFILE"),
        ("", "is empty"),
        (HEAD + KERNELS + EVENTS, "net.log:8: the log has no end"),
        (LOG.replace("profile\t1", "profile\t9"), "net.log:2: a log of version 9"),
        (LOG.replace("event\t0\t100", "event\t7\t100"), "net.log:7: an event of kernel 7, of 2"),
        (LOG.replace("event\t0\t100", "event\t0\t-1"), "net.log:7: '-1' is no number"),
        (LOG.replace("event\t0\t100\t400", "event\t0\t100"), "net.log:7: "),
        (LOG.replace("kernel\t0", "kernel\t3"), "net.log:5: kernel 3 in place of 0"),
        (LOG.replace("hz\t1000000", "hz"), "net.log:3: "),
        (LOG.replace("profile\t1\tnet", "profile"), "net.log:2: "),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.log"
    path.write_text(text)
    code, out, err = irtool("profile", path, "-o", tmp_path / "out.txt")
    assert code == 1 and message in err and not out
    assert not (tmp_path / "out.txt").exists()
