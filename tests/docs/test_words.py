"""What users read is plain English: none of the words below, which say a thing in a roundabout way."""

import re
from collections import Counter

from tests.docs.visible import texts

WORDS = {
    "told": "reported, shown, printed",
    "nobody": "no user, no client, nothing",
    "somebody": "a user, another client",
    "whoever": "any user who, users who",
    "let in": "allowed, admitted",
    "anew": "again, new",
    "go on": "continue",
    "goes on": "continues",
    "going on": "continuing",
    "otherwise than": "differently from",
    "is no name": "is not a valid name",
    "is no value": "invalid value",
    "is no key": "is not a valid key",
    "stand in": "are in, is in",
    "stands in": "is in",
    "stood in": "was in",
    "come to rest": "are stable",
    "comes to rest": "is stable",
    "at hand": "available",
}
"""What is not written, and what is instead."""
PATTERN = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def test_texts_are_plain_english():
    """Pages, help, messages, the chart, policies and the files of `sluice init`, each at its line."""
    found: dict[str, list[str]] = {}
    for place, line, text in texts():
        for match in PATTERN.finditer(text):
            around = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
            found.setdefault(place, []).append(f"{place}:{line}: {match[0]!r} ({WORDS[match[0].lower()]}): {around}")
    assert not found, "\n".join(row for rows in found.values() for row in rows)


def test_every_kind_of_text_is_looked_at():
    """Strings of the sources, help of commands and options, pages, the chart, policies, and the scaffold."""
    kinds = Counter(place.split("/")[0].split(" ")[0] for place, _, _ in texts())
    assert {"webhook", "docs", "policies", "charts", "certs", "README.md", "sluice"} <= kinds.keys()
    places = {place for place, _, _ in texts()}
    assert {"webhook/offline/scaffold/files/dot-sluice.yaml", "sluice serve --journal-users"} <= places
    assert not any(place.startswith("docs/decisions/") for place in places)
