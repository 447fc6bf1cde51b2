"""A rigid body in space, identified from its poses by simulating throws, impacts, slides and rest.

track       measured poses; solid, the outline and its inertia; start, the throw before contact
model       from values to poses; error, what the simulator misses of real impacts
fit         window by window; shared, several throws of one body
identify    the stage's entry, and result the artefact
"""
