"""Matter that flows or may flow (plastic, granular, fluid), identified by MPM from the outlines of all frames and views.

laws      what each material is made of: its law, its unknowns, where their scan begins
motion    from values to the particles of every frame, in batches
outline   how far the particles' outline is from the one seen, in pixels
fit       scan, coarse fit, fine fit
identify  the stage's entry, and result the artefact
"""
