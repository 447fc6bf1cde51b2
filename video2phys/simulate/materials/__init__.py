"""Constitutive laws: stress from deformation, and its reverse derivative."""
