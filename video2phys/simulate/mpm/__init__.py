"""Deformable solids by the material point method (MLS-MPM with APIC transfer), with a hand-written adjoint."""
