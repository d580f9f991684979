"""Post-training quantization as a rewriting: `kinds` of operators, `layers` and their names, the `plan`, `weights`, `insertion`."""
