"""Moving per-channel scales into weights: messages about which axes may be scaled, and the two directions."""
