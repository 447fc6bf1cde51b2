"""A clamped elastic body from motion-capture markers: Young's modulus, first frequency, damping ratio; sags under other loads.

    python pipelines/from_markers.py beam.csv --size 0.1 0.03 0.03 --density 1070 --gravity -9.81 0 0 --nu 0.499

FILE is CSV (time_s, NAME_x_m, NAME_y_m, NAME_z_m, ...) or C3D; it begins with the body held straight, shows its release and its ring-down.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from video2phys.errors import V2PError
from video2phys.parameters.markers.identify import identify
from video2phys.parameters.markers.predict import Place, predict_sag
from video2phys.parameters.markers.specimen import Specimen
from video2phys.states.markers import read_markers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--size", type=float, nargs=3, required=True, metavar="M", help="length from clamp to free end, width, height [m]")
    parser.add_argument("--density", type=float, required=True, help="[kg/m^3]")
    parser.add_argument("--gravity", type=float, nargs=3, required=True, metavar="G", help="[m/s^2] in the axes of the file")
    parser.add_argument("--nu", type=float, help="Poisson's ratio; estimated where absent")
    parser.add_argument("--axis", type=float, nargs=3, metavar="A", help="direction from clamp to free end in the axes of the file")
    parser.add_argument("--reach", type=float, help="[m] from the clamp to the outermost moving marker")
    parser.add_argument("--across", type=int, default=3, help="elements through the thickness")
    parser.add_argument("--predict", type=Path, help="another record of the same body")
    parser.add_argument("--load", type=float, default=0.0, help="[N] weight on its free end in that record")
    parser.add_argument("--at", choices=get_args(Place), default="face", help="where on the free end it hangs")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    axis = None if args.axis is None else tuple(args.axis)
    specimen = Specimen(tuple(args.size), args.density, tuple(args.gravity), args.nu, axis, args.reach)
    found = identify(read_markers(args.file), specimen, across=args.across)
    told = {"status": found.status.value, "parameters": {p.name: asdict(p) for p in found.parameters},
            "mesh": [{"nodes": nodes, "youngs_modulus": E} for nodes, E in found.meshes],
            "residual": {"train_m": found.train_rms, "heldout_m": found.heldout_rms},
            "notes": found.notes, "warnings": found.warnings}  # fmt: skip
    for p in found.parameters:
        span = "" if p.interval is None else "{:.4g} to {:.4g}".format(*p.interval)
        print(f"{p.name:18} {p.value:11.4g} {p.unit:7} {span:22} {p.verdict.value:15} {p.note}")
    for nodes, E in found.meshes:
        print(f"mesh of {nodes} nodes: E = {E:.4g} Pa")
    print(f"paths: fitted to {found.train_rms * 1e3:.3f} mm, predicted to {found.heldout_rms * 1e3:.3f} mm")
    if args.predict:
        sag = predict_sag(found, read_markers(args.predict), args.load, args.at)
        told["sag"] = asdict(sag) | {"error": sag.error}
        print(f"sag in {args.predict.name}: predicted {sag.predicted * 1e3:.2f} mm ({sag.interval[0] * 1e3:.2f} to "
              f"{sag.interval[1] * 1e3:.2f}), measured {sag.measured * 1e3:.2f} mm: {100 * sag.error:+.1f} %")  # fmt: skip
    print(*found.notes, *(f"warning: {w}" for w in found.warnings), sep="\n", file=sys.stderr)
    if args.json:
        args.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except V2PError as error:
        sys.exit(f"error: {error}\n  fix: {error.fix}")
