"""Steps of training through irtool and torch: `python -m benchmarks.training`."""
