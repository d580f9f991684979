"""The kinds of targets that TVM 0.10 has."""

from __future__ import annotations

KINDS = {
    "c": ("cpu",),
    "llvm": ("cpu",),
    "cuda": ("cuda", "gpu"),
    "rocm": ("rocm", "gpu"),
    "opencl": ("opencl", "gpu"),
    "metal": ("metal", "gpu"),
    "vulkan": ("vulkan", "gpu"),
    "webgpu": ("webgpu", "gpu"),
    "hexagon": ("hexagon",),
    "ext_dev": (),
    "hybrid": (),
}
"""By name, the keys that strategies are looked up by."""

DEFAULTS: dict[str, dict[str, str | int]] = {
    "cuda": {"thread_warp_size": 32, "max_num_threads": 1024},
    "rocm": {
        "mtriple": "amdgcn-amd-amdhsa-hcc",
        "max_num_threads": 256,
        "max_threads_per_block": 256,
        "max_shared_memory_per_block": 65536,
        "thread_warp_size": 64,
    },
    "opencl": {"max_num_threads": 256, "thread_warp_size": 1, "texture_spatial_limit": 16384},
    "metal": {"max_num_threads": 256, "thread_warp_size": 16, "max_function_args": 31},
    "vulkan": {
        "supports_float32": 1,
        "supports_int32": 1,
        "max_num_threads": 256,
        "max_threads_per_block": 256,
        "thread_warp_size": 1,
    },
    "webgpu": {"max_num_threads": 256},
}
"""What TVM 0.10 adds to a target's options where they are not given (src/target/target_kind.cc). What it finds out from the
processors of its own machine is not among them."""
