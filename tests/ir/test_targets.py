"""Targets as text, JSON, dictionaries and tags, with hosts."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool import Target
from irtool.diagnostics import UsageError
from irtool.ir.target_tags import TAGS

pytestmark = pytest.mark.promise("Python API")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llvm -mcpu=skylake", "llvm -mcpu=skylake"),
        ({"kind": "llvm", "mcpu": "skylake"}, "llvm -mcpu=skylake"),
        ('{"kind": "llvm", "mcpu": "skylake", "num-cores": 4}', "llvm -mcpu=skylake -num-cores=4"),
        (
            {"kind": "llvm", "keys": ["arm_cpu"], "mattr": ["+neon", "+dotprod"]},
            "llvm -keys=arm_cpu,cpu -mattr=+neon,+dotprod",
        ),
        ({"kind": "llvm", "device": "arm_cpu"}, "llvm -keys=arm_cpu,cpu -device=arm_cpu"),
        ({"tag": "nvidia/nvidia-t4", "arch": "sm_80"}, None),
        (
            "nvidia/nvidia-t4",
            "cuda -arch=sm_75 -max_shared_memory_per_block=49152 -max_threads_per_block=1024 "
            "-registers_per_block=65536 -thread_warp_size=32",
        ),
        ("aws/cpu/c5.12xlarge", "llvm -mcpu=cascadelake -num-cores=24"),
    ],
)
def test_forms_of_targets(text, expected) -> None:
    target = Target.parse(text)
    if expected is not None:
        assert str(target) == expected
        assert (Target.parse(expected).kind, Target.parse(expected).options) == (target.kind, target.options)
    else:
        assert target.option("arch") == "sm_80"
    assert Target.parse(target) is target
    assert hash(Target(target)) == hash(target)


def test_every_tag_is_a_target() -> None:
    assert len(TAGS) > 200
    for tag in TAGS:
        target = Target(tag)
        assert target.tag == tag
        assert target.record().fields["tag"] == tag
    assert Target("nvidia/jetson-agx-xavier").host == Target(
        "llvm -mcpu=carmel -mtriple=aarch64-linux-gnu -num-cores=4"
    )


def test_hosts() -> None:
    target = Target("cuda -arch=sm_75", host={"kind": "llvm", "mcpu": "skylake"})
    assert str(target.host) == "llvm -mcpu=skylake"
    assert target.record().fields["host"].fields["kind"] == "llvm"
    assert Target({"kind": "cuda", "host": "llvm"}).host == Target("llvm")
    assert Target("cuda").record().fields["host"].fields["kind"] == "llvm"
    with pytest.raises(UsageError, match="has the host llvm already"):
        Target({"kind": "cuda", "host": "llvm"}, host="c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nvidia/nvidia-t5", "unknown target tag"),
        ("lvm", "unknown target lvm"),
        ("{", "no JSON"),
        ({"mcpu": "x"}, "needs a kind"),
        ("", "empty"),
        (3, "a text, a dictionary or a Target, not int"),
        ({"kind": "llvm", "mcpu": {}}, "a string or a number is expected"),
        ("llvm 'x", "cannot read the target"),
    ],
)
def test_wrong_targets(text, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Target.parse(text)


def test_targets_reach_build_and_contexts() -> None:
    from irtool import relay

    f = relay.nn.relu(relay.var("x", shape=(4,)))
    assert irtool.build(f, target={"kind": "c"}).run([np.zeros(4, "float32")]).shape == (4,)
    assert irtool.build(f, target=Target("c"), emit="c").report["name"] == "model"
    assert irtool.PassContext(target="nvidia/nvidia-t4").target == Target("nvidia/nvidia-t4")
    with pytest.raises(UsageError, match="unknown backend cuda"):
        irtool.build(f, target="nvidia/nvidia-t4")
