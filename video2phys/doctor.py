"""What is installed, and what really works: libraries are imported, not only looked up."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from importlib import import_module

REQUIRED = ("av", "cv2", "numpy", "scipy", "skimage", "torch", "taichi", "mujoco", "trimesh", "pydantic", "yaml", "jinja2", "matplotlib")
OPTIONAL = {"gsplat": "Gaussian splatting on CUDA", "nvdiffrast": "mesh rendering on CUDA", "pytorch3d": "mesh rendering on CUDA"}


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    required: bool
    detail: str


def examine() -> list[Finding]:
    """One finding per library, device and resource."""
    findings = [_library(name, True, "") for name in REQUIRED] + [_library(name, False, use) for name, use in OPTIONAL.items()]
    findings += [_cuda(), _codec("h264"), _codec("hevc"), _codec("av1"), _codec("vp9")]
    free = shutil.disk_usage(tempfile.gettempdir()).free / 1e9
    return [*findings, Finding("disk", free > 1, False, f"{free:.1f} GB free for temporary files")]


def _library(name: str, required: bool, use: str) -> Finding:
    try:
        if name == "taichi":
            from video2phys.backend import taichi

            module = taichi()
        else:
            module = import_module(name)
    except ImportError as error:
        return Finding(name, False, required, f"{use or 'not importable'}: {error}")
    version = getattr(module, "__version__", "")
    return Finding(name, True, required, ".".join(map(str, version)) if isinstance(version, tuple) else str(version))


def _cuda() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("cuda", False, False, "torch is missing")
    there = torch.cuda.is_available()
    return Finding("cuda", there, False, torch.cuda.get_device_name(0) if there else "no device: everything runs on the CPU")


def _codec(name: str) -> Finding:
    try:
        import av

        av.codec.Codec(name, "r")
    except ImportError:
        return Finding(f"decode {name}", False, False, "av is missing")
    except ValueError:  # av raises a ValueError of its own for an unknown codec
        return Finding(f"decode {name}", False, False, "this build of PyAV cannot read it")
    return Finding(f"decode {name}", True, False, "")
