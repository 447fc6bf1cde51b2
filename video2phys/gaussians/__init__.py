"""Reconstruct each object: Gaussians for its look, particles and a surface for its matter."""
