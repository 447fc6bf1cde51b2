"""Differentiable motion. Knows nothing of stages."""
