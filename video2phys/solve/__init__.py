"""Residuals in, estimates with uncertainty out. Knows nothing of stages."""
