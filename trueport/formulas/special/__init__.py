"""Special functions: gamma, Bessel, error functions and integrals."""
