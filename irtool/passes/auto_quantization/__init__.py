"""TVM's `relay.quantize`: `forward` rewriting by rules, those of `partition`, `annotation`, `realization`, and `scales`.

After python/tvm/relay/quantize and src/relay/quantize of TVM 0.10.
"""
