"""Elastic solids, cloth and rods by finite elements, with what drives them, implicit in time, with exact gradients by the adjoint.

body   = parts.Solid.of(node, element), slender.Sheet.of(...), slender.Rod.of(...), actuators.Muscle.of(...)
scene  = scene.build(node, body, ...)                                 what is fixed
params = scene.Params.of(scene, body.material(...), ...)              what is learnt; one for each gap where it changes
state  = scene.start(scene, ...)                                      what moves
track  = rollout.rollout(params, scene, state, time)
track, pullback = gradient.differentiable(params, scene, state, time)
rest, pullback  = statics.equilibrium(params, scene)

All elements are sums over points of a law of the principal stretches of F = sum_a x_a (x) g_a: of three stretches in a solid, two in a
sheet, one in a rod or a muscle, of none but a curvature where they bend. So one set of kernels serves all (`kernel.py`).

A step minimises a potential. The fast way (Liu, Bouaziz & Kavan 2017; Du et al. 2022) is L-BFGS that begins from a constant matrix,
therefore factorised once: inertia, the elasticity of solids at rest, turned as each node has turned (`factor.py`), and projective
dynamics' sum w G^T G of sheets and rods. The same factor preconditions the adjoint.
"""
