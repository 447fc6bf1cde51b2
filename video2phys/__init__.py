"""video2phys: from a folder of video to physical parameters, interior and a digital twin."""

__version__ = "0.1.0"
