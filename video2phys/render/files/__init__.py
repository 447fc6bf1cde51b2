"""Splats to files and back: 3DGS PLY and .splat. `read_splats` takes either."""
