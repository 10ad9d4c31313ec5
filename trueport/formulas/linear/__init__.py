"""Linear algebra: products, factors, eigenvalues."""
