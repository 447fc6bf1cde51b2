"""Residuals in, estimates with uncertainty out. Knows nothing of what is being fitted."""
