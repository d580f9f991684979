"""Maps: loops fused, the contiguous one in vectors (`vector_loops`; `ragged_axis`, `ragged_reads`: indices with division)."""
