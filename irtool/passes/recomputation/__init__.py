"""The choice of the values that a training step stores between its forward pass and its backward pass."""
