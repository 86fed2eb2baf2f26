"""`python -m tests.editor.measure`: how long an editor waits in a repository of 500 policies, in milliseconds.

The first turn is the first file that is opened, once the server has read the repository. Time on the clock grows
with what else the machine does; the processor time beside it does so less. The exit code is 1 where a bar is missed.
"""

import re
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bars import Bar, judge
from tests.editor.marked import MARK, POLICY, placed
from tests.shared import ROOT
from webhook.editor.completion import complete
from webhook.editor.cursor import spot_at
from webhook.editor.findings import findings_of, prepare
from webhook.editor.hover import hover
from webhook.editor.workspace import Workspace

COUNT, TIMES = 500, 20
BAR = 100


def grown(folder: Path, least: int = COUNT) -> int:
    """Write the shipped policies again and again under other names, until there are enough; give how many there are."""
    count = turn = 0
    while count < least:
        for path in sorted(ROOT.glob("policies/*/policy.yaml")):
            text = path.read_text()
            for name in set(re.findall(r"(?m)^metadata:\n  name: (\S+)", text)):
                text = re.sub(rf"(?m)(name|policyName): {re.escape(name)}$", rf"\1: {name}-{turn}", text)
            (folder / f"{path.parent.name}-{turn}.yaml").write_text(text)
            count += len(re.findall(r"(?m)^kind: \w+AdmissionPolicy$", text))
        turn += 1
    return count


def main() -> int:
    """Print the median and the longest of each, and the bars."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = grown(folder)
        workspace = Workspace((folder,))
        workspace.load()
        prepare(workspace, datetime.now(UTC))
        path = folder / "open.yaml"
        text, line, column = placed(POLICY.replace("EXPRESSION", f"object.spec.containers.all(c, c.im{MARK})"))
        told = {"findings": [], "completion": [], "hover": []}
        for turn in range(TIMES):
            workspace.write(path, f"{text}# {turn}\n")
            spot = spot_at(workspace.files[path].documents, line, column)
            for what, ask in (
                ("findings", lambda: findings_of(workspace, path, datetime.now(UTC))),
                ("completion", lambda: complete(workspace, path, line, column)),
                ("hover", lambda spot=spot: hover(spot, workspace.around(path))),
            ):
                start, worked = time.perf_counter(), time.process_time()
                ask()
                now, done = time.perf_counter(), time.process_time()
                told[what].append(((now - start) * 1000, (done - worked) * 1000))
        print(f"{count} policies, {TIMES} turns")
        for what, rows in told.items():
            for kind, row in zip(("clock", "processor"), zip(*rows, strict=True), strict=True):
                middle, longest = statistics.median(row), max(row)
                print(f"{what:12} {kind:9} {middle:6.1f} ms, longest {longest:6.1f}, first {row[0]:6.1f}")
    return judge(Bar(f"ms until {what}, at most", max(clock for clock, _ in rows), BAR) for what, rows in told.items())


if __name__ == "__main__":
    sys.exit(main())
