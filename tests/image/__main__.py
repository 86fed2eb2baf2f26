"""`make image`: the image's content in a folder; `COMPILED=false` as a second argument leaves the machine code out."""

import sys
from pathlib import Path

from tests.image.build import build

if __name__ == "__main__":
    image = build(Path(sys.argv[1]), dict(argument.split("=", 1) for argument in sys.argv[2:]))
    print(f"{image.root}: run {' '.join(image.command)}")
