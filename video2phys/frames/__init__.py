"""Decode a capture folder into upright frames on one clock, with cameras, masks and scale."""
