"""Rigid motion parallel to the picture of one camera.

track       one object's measured way, in phases; arc, where all of it is a swing
motion      parabolas; scale, what a pixel is
slide, flight, bounce, drag, table, collision, pendulum   a law each, and how it is reported
fit         laws fitted to windows of tracks
identify    which motion it is; the stage's entry, and result the artefact
"""
