"""Targets by tag: TVM's names of processors and boards, and the targets that they stand for."""

from __future__ import annotations

from typing import Any

_GPUS = """
sm_20 32768 geforce-gtx-465 geforce-gtx-470 geforce-gtx-480 geforce-gtx-480m geforce-gtx-570 geforce-gtx-580
  geforce-gtx-590 quadro-plex-7000 tesla-c2050 tesla-c2070 tesla-c2075
sm_21 32768 geforce-410m geforce-610m geforce-705m geforce-710m geforce-800m geforce-820m geforce-gt-415m
  geforce-gt-420m geforce-gt-430 geforce-gt-435m geforce-gt-440 geforce-gt-445m geforce-gt-520 geforce-gt-520m
  geforce-gt-520mx geforce-gt-525m geforce-gt-540m geforce-gt-550m geforce-gt-555m geforce-gt-610 geforce-gt-620
  geforce-gt-620m geforce-gt-625m geforce-gt-630 geforce-gt-630m geforce-gt-635m geforce-gt-640-gddr3 geforce-gt-720m
  geforce-gt-730-ddr3,128bit geforce-gts-450 geforce-gtx-460 geforce-gtx-460m geforce-gtx-470m geforce-gtx-485m
  geforce-gtx-550-ti geforce-gtx-560-ti geforce-gtx-560m geforce-gtx-570m geforce-gtx-580m geforce-gtx-670m
  geforce-gtx-675m nvidia-nvs-310 nvidia-nvs-315 nvs-4200m nvs-5200m nvs-5400m
sm_30 65536 geforce-gt-640m geforce-gt-640m-le geforce-gt-645m geforce-gt-650m geforce-gt-730m geforce-gt-735m
  geforce-gt-740 geforce-gt-740m geforce-gt-745m geforce-gt-750m geforce-gt-755m geforce-gtx-650 geforce-gtx-650-ti
  geforce-gtx-650-ti-boost geforce-gtx-660 geforce-gtx-660-ti geforce-gtx-660m geforce-gtx-670 geforce-gtx-670mx
  geforce-gtx-675mx geforce-gtx-680 geforce-gtx-680m geforce-gtx-680mx geforce-gtx-690 geforce-gtx-760
  geforce-gtx-760m geforce-gtx-765m geforce-gtx-770 geforce-gtx-770m geforce-gtx-780m geforce-gtx-860m-sm-30
  geforce-gtx-870m geforce-gtx-880m nvidia-nvs-510 quadro-410 quadro-k1100m quadro-k2000 quadro-k2000d quadro-k2100m
  quadro-k2200m quadro-k3100m quadro-k4000 quadro-k4100m quadro-k420 quadro-k4200 quadro-k4200m quadro-k5000
  quadro-k500m quadro-k5100m quadro-k5200m quadro-k600 quadro-k6000m tesla-k10
sm_35 65536 geforce-920m geforce-gt-640-gddr5 geforce-gt-705 geforce-gt-720 geforce-gt-730 geforce-gtx-780
  geforce-gtx-780-ti geforce-gtx-titan geforce-gtx-titan-black geforce-gtx-titan-z quadro-k510m quadro-k5200
  quadro-k6000 quadro-k610m tesla-k20 tesla-k40
sm_37 65536 tesla-k80
sm_50 65536 geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 geforce-gtx-750-ti geforce-gtx-850m
  geforce-gtx-860m-sm-50 geforce-gtx-950m geforce-gtx-960m nvidia-nvs-810 quadro-k1200 quadro-k2200 quadro-k620
  quadro-k620m quadro-m1000m quadro-m1200 quadro-m2000m quadro-m3000m quadro-m4000m quadro-m5000m quadro-m500m
  quadro-m520 quadro-m600m
sm_52 65536 geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 geforce-gtx-970m
  geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m geforce-gtx-titan-x quadro-m2000 quadro-m2200 quadro-m4000
  quadro-m5000 quadro-m5500m quadro-m6000 quadro-m6000-24gb quadro-m620 tesla-m40 tesla-m60
sm_53 32768 jetson-nano jetson-tx1 tegra-x1
sm_60 65536 quadro-gp100 tesla-p100
sm_61 65536 geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti geforce-gtx-1080
  geforce-gtx-1080-ti nvidia-titan-x nvidia-titan-xp p520 p620 quadro-p1000 quadro-p2000 quadro-p2200 quadro-p3000
  quadro-p3200 quadro-p400 quadro-p4000 quadro-p4200 quadro-p500 quadro-p5000 quadro-p5200 quadro-p600 quadro-p6000
  quadro-p620 tesla-p4 tesla-p40
sm_62 32768 jetson-tx2
sm_70 65536 nvidia-titan-v nvidia-v100 quadro-gv100
sm_75 65536 geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 nvidia-titan-rtx
  quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 rtx-4000 rtx-5000 t1000 t2000
sm_80 65536 nvidia-a100
sm_86 65536 geforce-rtx-3070 geforce-rtx-3080 geforce-rtx-3090
"""
"""By architecture of CUDA and number of registers in a block: the names behind `nvidia/`."""

_C5 = {
    "large": (1, "skylake-avx512"),
    "xlarge": (2, "skylake-avx512"),
    "2xlarge": (4, "skylake-avx512"),
    "4xlarge": (8, "skylake-avx512"),
    "9xlarge": (18, "skylake-avx512"),
    "12xlarge": (24, "cascadelake"),
    "18xlarge": (36, "skylake-avx512"),
    "24xlarge": (48, "cascadelake"),
}
"""Instances behind `aws/cpu/c5.`: cores and processor."""


def _cuda(arch: str, registers: int) -> dict[str, Any]:
    return {
        "kind": "cuda",
        "arch": arch,
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "registers_per_block": registers,
    }


def _arm(mcpu: str, **more: Any) -> dict[str, Any]:
    return {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": mcpu, "num-cores": 4, **more}


def _gpus() -> dict[str, dict[str, Any]]:
    result = {}
    for line in _GPUS.replace("\n  ", " ").strip().split("\n"):
        arch, registers, *names = line.split()
        result.update({f"nvidia/{n}": _cuda(arch, int(registers)) for n in names})
    return result


_CORTEX = _arm("cortex-a72", mattr=["+neon"])

TAGS: dict[str, dict[str, Any]] = {
    "raspberry-pi/4b-aarch64": {**_CORTEX, "host": _CORTEX},
    "nvidia/jetson-agx-xavier": {**_cuda("sm_72", 65536), "host": _arm("carmel")},
    **_gpus(),
    **{f"aws/cpu/c5.{n}": {"kind": "llvm", "mcpu": mcpu, "num-cores": cores} for n, (cores, mcpu) in _C5.items()},
}
"""The fields of a target by its tag."""
