"""An elastic body, identified by simulating it on a grid that stays with it, from the affine motion that cameras see.

start       the throw before a contact, in closed form; approach, the ground that it meets
carve       the body that all outlines allow; sight, what of it the cameras see
body        fewer particles, and points that ride on them; motion, from values to affine states, in batches
segment     one flight and the contact after it; residuals, its unknowns and what is left of the measured states
search      where fits start
fit         scan, first contact, all training frames, intervals over all explanations
profile     what other Poisson ratios allow
identify    the stage's entry; result, the artefact; silhouette, how its outlines agree
"""
