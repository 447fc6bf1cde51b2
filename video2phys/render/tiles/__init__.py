"""The rasteriser on the CPU: Taichi kernels with hand-written adjoints, and the torch functions made of them."""
