"""A file that is damaged: what can be read of it, and every other file, is read."""

import gzip

import pytest

from tests.journal.days import RELOAD, finished, held, live
from tests.journal.test_command import sluice, told
from webhook.dashboard.past.journal import read_past
from webhook.diagnostics import SourceError

BAD_LINE = gzip.compress(b"no record\n")
DAMAGES = {
    "zeros for the end of the stream": (lambda data: data[:-8] + bytes(8), "cannot be read: CRC check failed"),
    "other bytes behind it": (lambda data: data + b"????", "cannot be read: Not a gzipped file"),
    "a line that is none": (lambda data: data + BAD_LINE, "JSON is malformed"),
    "no beginning": (lambda data: bytes(10) + data[10:], "cannot be read: Not a gzipped file"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_costs_what_cannot_be_read(tmp_path, damage):
    """Each command works on the rest, also of other files; what is wrong is told last, with exit code 2."""
    spoil, said = DAMAGES[damage]
    runs, ends = held("first", "2", 1), finished("first", "2", 3, 1)
    live(tmp_path, (0,), (1, told("first", "2")), RELOAD, (2, runs), RELOAD, (3, ends))
    folder = tmp_path / "replica-1"
    whole = {name: sluice(name, str(folder)).stdout.splitlines() for name in ("show", "export", "replay")}
    middle = sorted(folder.iterdir())[1]
    middle.write_bytes(spoil(middle.read_bytes()))
    for name, lines in whole.items():
        done = sluice(name, str(folder))
        assert isinstance(done.exception, SourceError)
        assert f"{middle}" in str(done.exception)
        assert said in str(done.exception)
        if damage != "no beginning":
            assert done.stdout.splitlines() == lines
        assert done.stdout
    assert isinstance(sluice("compare", str(folder)).exception, SourceError)
    past = read_past(folder, lambda: True)
    assert past.partial
    assert [event.what for event in past.lives["team-a/first"]] == ["queued", "admitted", "finished"]
