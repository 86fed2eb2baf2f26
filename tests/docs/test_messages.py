"""The page of messages quotes what the code says."""

import re

from tests.docs.markdown import DOCS
from tests.shared import ROOT

OTHERS = ("failed calling webhook", "x509: ")
"""Messages of the API server."""


def test_messages_are_those_of_the_code():
    """Each quoted message, in the parts between `...` and numbers, stands in the sources or the shipped policies."""
    sources = [*(ROOT / "webhook").rglob("*.py"), *(ROOT / "policies").rglob("policy.yaml")]
    said = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    page = (DOCS / "operations/troubleshooting.md").read_text(encoding="utf-8")
    first = [row.split(" | ")[0] for row in re.findall(r"^\| (`[^\n]*)", page, re.MULTILINE)]
    quoted = [text for cell in first for text in re.findall(r"`([^`]+)`", cell) if " " in text]
    parts = [part for text in quoted if not text.startswith(OTHERS) for part in re.split(r"\.\.\.|\d+|\"", text)]
    assert len(quoted) > 15
    assert not [part for part in parts if len(part.strip()) > 6 and part.strip(" :;,") not in said]
