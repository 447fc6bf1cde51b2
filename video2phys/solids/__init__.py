"""Simple solids (box, ellipsoid, cylinder): their shape, outline and look in a picture, and their pose from pictures."""
