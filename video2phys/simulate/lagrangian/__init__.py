"""Elastic solids on a grid that stays with the body: the total Lagrangian material point method.

lattice = lattice.embed(scene)                    nodes around the particles at rest, made once
state   = lattice.begin(scene, params, ...)       what moves: the nodes
track   = rollout.rollout(params, lattice, state, time, damping=...)

Scene and Params are those of `simulate.mpm`.
"""
