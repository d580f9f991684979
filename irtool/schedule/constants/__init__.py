"""Constants that the build computes: slices, narrower types and derived weights.

finite_weights     constants without NaN and infinity
slice_constants    a slice of a constant for each stage that reads elements of its own
narrow_constants   64-bit integers ⇒ 32 bits
half_weights       float32 ⇒ float16 or bfloat16, if these hold all elements
dedup_constants    equal constants ⇒ one
derived_stages     stages that read transformed weights: winograd, strassen
"""
