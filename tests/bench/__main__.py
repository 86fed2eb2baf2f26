"""`python -m tests.bench [NAME ...]`: run all benchmarks, or those named, one after the other.

Each is a module beside or below this one with a `main()` that prints its own table. One that cannot run on this machine
(no control plane, no reference data) says so and the next one runs.
"""

import importlib
import platform
import sys
import time
import traceback

NAMES = ("crossings", "engine", "cel", "queue.decisions", "queue.lives", "journal", "admission", "creates", "writes")


def main(names: list[str]) -> int:
    """Run the benchmarks; the exit code tells whether one broke."""
    broken = []
    print(f"Python {platform.python_version()}, {platform.python_compiler()}")
    for name in names or NAMES:
        print(f"\n== {name} ==", flush=True)
        start = time.perf_counter()
        sys.argv = [f"tests.bench.{name}"]  # a module's own options are for when it is run by itself
        try:
            importlib.import_module(f"tests.bench.{name}").main()
        except SystemExit as end:  # a bar that was missed
            broken += [name] if end.code else []
        except Exception:
            traceback.print_exc()
            broken.append(name)
        print(f"-- {name}: {time.perf_counter() - start:.0f} s", flush=True)
    if broken:
        print(f"did not finish, or missed a bar: {', '.join(broken)}", file=sys.stderr)
    return len(broken)


if __name__ == "__main__":
    unknown = [name for name in sys.argv[1:] if name not in NAMES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    sys.exit(main(sys.argv[1:]))
