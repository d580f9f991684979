"""Neural-network operators: convolutions, matrix products, pooling, normalisation, losses."""
