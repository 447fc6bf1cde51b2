"""Differentiable images. Knows nothing of stages."""
