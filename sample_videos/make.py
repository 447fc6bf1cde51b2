"""Make the sample captures anew: python sample_videos/make.py [NAME]. Seeded; needs the package installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

SAMPLES = ("sliding_block", "soft_ball")


def main() -> None:
    for name in sys.argv[1:] or SAMPLES:
        folder = Path(__file__).parent / name
        folder.mkdir(exist_ok=True)
        import_module(name).make(folder)
        print(folder)


if __name__ == "__main__":
    main()
