"""Readers of the layouts that a capture folder may have; `recognise` looks at what it holds."""
