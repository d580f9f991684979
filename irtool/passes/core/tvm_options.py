"""Options of TVM's pass contexts that nothing here reads: scripts may give them, and are told that they have no effect."""

from __future__ import annotations

from collections.abc import Iterable

_TUNING = "kernels are scheduled by irtool, and measured by `irtool tune`"
_NESTS = "loop nests are made for C, where the compiler decides it"
_DEVICES = "builds are for processors"
_LIBRARIES = "no library of others is called"
_RUNTIME = "the code needs no runtime of TVM's"
_MEMORY = "memory is planned in one arena"

REASONS: dict[str, dict[str, type]] = {
    _TUNING: {
        "relay.backend.use_auto_scheduler": bool,
        "relay.backend.use_meta_schedule": bool,
        "relay.backend.use_meta_schedule_dispatch": int,
        "relay.backend.disable_compile_engine_cache": bool,
        "relay.backend.tir_converter": str,
    },
    _NESTS: {
        "tir.disable_vectorize": bool,
        "tir.disable_storage_rewrite": bool,
        "tir.disable_cse_tir": bool,
        "tir.enable_equiv_terms_in_cse_tir": bool,
        "tir.disable_assert": bool,
        "tir.detect_global_barrier": bool,
        "tir.instrument_bound_checkers": bool,
        "tir.noalias": bool,
        "tir.debug_keep_trivial_loop": bool,
        "tir.merge_static_smem": bool,
        "tir.ReduceBranchingThroughOvercompute": dict,
        "tir.RemoveNoOp": dict,
        "tir.Simplify": dict,
        "tir.add_lower_pass": list,
        "tir.is_entry_func": bool,
        "tir.vtcm_capacity": int,
        "tir.use_async_copy": bool,
        "tir.contrib.ethos-u.copy_compute_reordering_max_copy_movements": int,
    },
    _MEMORY: {
        "tir.usmp.enable": bool,
        "tir.usmp.algorithm": str,
        "tir.usmp.use_workspace_io": bool,
        "tir.usmp.custom_algorithm": str,
    },
    _DEVICES: {
        "tir.experimental_dma_bypass_cache": bool,
        "tir.dma_bypass_cache": bool,
        "tir.ptx_ldg32": bool,
    },
    _LIBRARIES: {
        "relay.collage.tvm_max_depth": int,
        "relay.collage.byoc_max_depth": int,
        "relay.collage.byoc_fusion_style": list,
        "relay.ext.cmsisnn.options": dict,
        "relay.ext.ethos-n.options": dict,
        "relay.ext.ethos-u.options": dict,
        "relay.ext.tensorrt.options": dict,
        "relay.ext.vitis_ai.options": dict,
        "relay.ext.cutlass.options": dict,
    },
    _RUNTIME: {
        "te.keep_schedule_record": bool,
        "testing.immutable_module": bool,
    },
}
"""By the reason why there is no effect: keys, each with the kind of its value."""

KINDS = {key: kind for keys in REASONS.values() for key, kind in keys.items()}


def notes_on(keys: Iterable[str]) -> list[str]:
    """A sentence on each of the keys that has no effect."""
    reasons = {key: reason for reason, known in REASONS.items() for key in known}
    return [f"the pass option {key} has no effect: {reasons[key]}" for key in keys if key in reasons]
