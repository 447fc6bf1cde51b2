"""Elastic solids by finite elements, implicit in time, with exact gradients by the adjoint.

scene  = scene.build(node, element, ...)          what is fixed
params = scene.Params.of(scene, ...)              what is learnt
state  = scene.start(scene, ...)                  what moves
track  = rollout.rollout(params, scene, state, time)
track, pullback = gradient.differentiable(params, scene, state, time)
rest, pullback  = statics.equilibrium(params, scene)

A step minimises a potential. The fast way (Liu, Bouaziz & Kavan 2017; Du et al. 2022) is L-BFGS that begins from the matrix of
projective dynamics, M / h^2 + sum w G^T G, constant and therefore factorised once; without history each iteration is projective
dynamics' local and global step. The same factor preconditions the adjoint.
"""
