"""Rewrites of a program of several kernels, and the pipeline that orders them.

pipeline            the stages between a lowered program and one whose memory is planned, each with the reason for its place
kernel              every stage of a kernel ⇒ the nest of the strategy with the lowest estimate
fuse_epilogues, fuse_kernels   kernels ⇒ one kernel (`merge_kernels`; `common_axes`: their common axes)
fuse_row_loops      stages over the same rows ⇒ one loop over the rows
canonical_views, store_canonical_views, materialize_views, split_groups   tensors read under several shapes
widen_float16       16-bit floats that are read often ⇒ 32 bits
share_kernels       kernels that differ in numbers only ⇒ one
step_lists          lists of steps, and the steps that name each slot, which the fusers above keep up to date
bound_stack         large local arrays ⇒ the workspace
threads             the loops that threads share, and their chunks (`share_loops`, `thread_split`)
"""
