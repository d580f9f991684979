"""Post-training quantization as a rewriting: `operator_roles`, `layers` and their names, the `plan`, `weights`, `insertion`."""
