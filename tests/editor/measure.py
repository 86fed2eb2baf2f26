"""`python -m tests.editor.measure`: how long an editor waits for `sluice lsp` in a repository of 500 policies.

Asked as an editor asks, over standard input and output. The first turn begins as soon as the server is initialized, so
it reads the repository meanwhile, and `sluice lint` runs beside it. Findings of a change are counted from the end of
the pause that the server makes on purpose. The exit code is 1 where a bar is missed.
"""

import asyncio
import gc
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types as lsp
from rich.console import Console
from rich.progress import track

from tests.bars import Bar, judge
from tests.editor.driver import editing
from tests.editor.marked import MARK, POLICY, placed
from tests.patience import until
from tests.shared import ROOT
from webhook.editor.server import PAUSE

COUNT, TURNS = 500, 20
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


async def waits(folder: Path) -> dict[str, list[float]]:
    """Open a file, change it in each turn, and return the milliseconds until each answer."""
    marked = POLICY.replace("EXPRESSION", f"object.spec.containers.all(c, c.im{MARK})")
    text = placed(marked)[0]
    found: dict[str, list[float]] = {"findings": [], "completion": [], "hover": []}
    async with editing(folder) as editor:
        where = editor.at("open.yaml", marked)
        for turn in track(range(TURNS), "Asking", console=Console(stderr=True), transient=True):
            editor.told.pop(editor.uri("open.yaml"), None)
            start = time.perf_counter()
            if turn:
                editor.write("open.yaml", f"{text}# {turn}\n", version=turn + 1)
                start += PAUSE
            else:
                editor.open("open.yaml", text)
            await until(lambda: editor.uri("open.yaml") in editor.told, "the findings are told", pause=0.001)
            found["findings"].append(time.perf_counter() - start)
            start = time.perf_counter()
            await editor.client.text_document_completion_async(lsp.CompletionParams(*where))
            found["completion"].append(time.perf_counter() - start)
            start = time.perf_counter()
            await editor.client.text_document_hover_async(lsp.HoverParams(*where))
            found["hover"].append(time.perf_counter() - start)
    return {what: [1000 * seconds for seconds in row] for what, row in found.items()}


def main() -> int:
    """Print the median and the longest of each, and the bars."""
    with tempfile.TemporaryDirectory() as name:
        count = grown(Path(name))
        gc.disable()  # a collection of this process would be counted as the server's
        found = asyncio.run(waits(Path(name).resolve()))
    print(f"{count} policies, {TURNS} turns")
    for what, row in found.items():
        print(f"{what:12} {statistics.median(row):6.1f} ms, longest {max(row):6.1f}, first {row[0]:6.1f}")
    return judge(Bar(f"ms until {what}, at most", max(row), BAR) for what, row in found.items())


if __name__ == "__main__":
    sys.exit(main())
