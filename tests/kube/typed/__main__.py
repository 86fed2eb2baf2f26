"""`python -m tests.kube.typed [COUNT] [SEED]`: random objects against a fresh API server, differences by place."""

import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.controlplane.cluster import start
from tests.kube.typed.random_objects import KINDS, Maker
from tests.kube.typed.recording import differences, recording


def main() -> None:
    """Compare COUNT objects and print where they differ, most often first; exit 1 if any does."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    maker = Maker(random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    places: Counter[str] = Counter()
    examples: dict[str, str] = {}
    refused: Counter[str] = Counter()
    plane = start()
    try:
        with tempfile.TemporaryDirectory() as folder, recording(plane, Path(folder)) as recorder:
            for number in range(count):
                gvk, namespaced = KINDS[number % len(KINDS)]
                obj = maker.object(gvk, namespaced)
                theirs = recorder.received(obj)
                if isinstance(theirs, str):
                    refused[f"{gvk.kind}: {theirs[:150]}"] += 1
                    continue
                for path, expected, found in differences(obj, theirs):
                    place = re.sub(r"/\d+", "/*", path)
                    places[place] += 1
                    examples.setdefault(place, f"server {expected!r}, ours {found!r}")
    finally:
        plane.stop()
    for place, times in places.most_common():
        print(f"{times:6} {place}: {examples[place][:300]}")
    for text, times in refused.most_common(40):
        print(f"refused {times:6} {text}")
    print(f"{count} objects, {sum(refused.values())} refused before the webhook, {sum(places.values())} differences")
    sys.exit(bool(places))


if __name__ == "__main__":
    main()
