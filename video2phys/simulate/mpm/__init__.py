"""Deformable solids by the material point method (MLS-MPM with APIC transfer), with a hand-written adjoint.

scene  = scene.build(particle, volume, ...)       what is fixed, with boundary.plane(...), .sampled(...), .of_mesh(...)
params = scene.Params.of(scene, ...)              what is learnt, one entry per batch member
state  = scene.start(scene, params, ...)          what moves
state  = rollout.step(params, scene, state, dt)
track  = rollout.rollout(params, scene, state, time)
track, pullback = gradient.differentiable(params, scene, state, time)
"""
