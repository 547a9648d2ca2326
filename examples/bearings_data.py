"""Raw vibration of 20 sensors, a file each: python examples/bearings_data.py [--cwru FOLDER].

Each sensor's bearing wears, from one severity to the next, and is then replaced; the sensors are
not all at the same severity at once.

Without --cwru the vibration is synthetic. With it, it is that of the bearings of
Case Western Reserve University (signal_KIND_LOAD.npz: arrays wNNN of counts and scaleNNN, NNN the
width of the fault): each sensor has its own stretch of every recording, and no two share a sample.
The files have two columns, vibration and level. What else is there stays; files of the same name
are replaced. Then: anabranch run examples/bearings.toml
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anabranch.protocol import Array
from anabranch.synthetic_vibration import LEVELS, vibration

SENSORS = 20


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Raw vibration of 20 sensors, a file each.")
    parser.add_argument("--cwru", type=Path, help="folder of signal_*.npz; synthetic without")
    parser.add_argument("--kind", default="IR", help="IR (inner race), B (ball), OR6 (outer race)")
    parser.add_argument("--out", type=Path, default=Path("data/bearings"))
    parser.add_argument("--samples", type=int, default=24_000, help="of a severity, if synthetic")
    parser.add_argument("--cycles", type=int, default=3, help="bearings of a sensor, if synthetic")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for sensor in range(SENSORS):
        if args.cwru is None:
            stretches = _synthetic(sensor, args.samples, args.cycles)
        else:
            stretches = list(_recorded(args.cwru, args.kind, sensor))
        first = sensor % len(stretches)
        file = args.out / f"sensor{sensor:02d}.csv"
        with file.open("w", encoding="ascii") as out:
            out.write("vibration,level\n")
            for level, signal in stretches[first:] + stretches[:first]:
                out.writelines(f"{value:.6g},{level}\n" for value in signal.tolist())
    print(f"{SENSORS} files in {args.out}")


def _synthetic(sensor: int, samples: int, cycles: int) -> list[tuple[int, Array]]:
    seeds = [SENSORS * cycle + sensor for cycle in range(cycles)]
    return [
        (level, vibration(level, samples, seed)) for seed in seeds for level in range(1, LEVELS + 1)
    ]


def _recorded(folder: Path, kind: str, sensor: int) -> Iterator[tuple[int, Array]]:
    """Give a sensor's stretches: level 1 of the first load, 2, ..., then those of the next."""
    files = sorted(folder.glob(f"signal_{kind}_*.npz"))
    if not files:
        raise SystemExit(f"{folder} has no signal_{kind}_*.npz")
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            widths = sorted(name[1:] for name in arrays.files if name.startswith("w"))
            for level, width in enumerate(widths, start=1):
                own = np.array_split(arrays[f"w{width}"], SENSORS)[sensor]
                yield level, own * float(arrays[f"scale{width}"])


if __name__ == "__main__":
    main()
