"""Recorded reviews hold no secrets, stay within their bounds, and can be read back."""

import io
import json
from pathlib import Path

import pytest

from webhook.admission.verdict import Verdict
from webhook.admission.wire import parse
from webhook.kube.json_patch import Operation
from webhook.record.mask import masked, masked_operations
from webhook.record.recorder import FILE, Recorder, RecordLimits, record_of
from webhook.record.replay import BadRecording, percentile, read_recording

ALLOWED = Verdict(allowed=True)


def request(obj, **more):
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    wire = {
        "uid": "u",
        "kind": kind,
        "resource": {"group": group, "version": version, "resource": obj["kind"].lower() + "s"},
        "operation": "CREATE",
        "name": obj["metadata"]["name"],
        "namespace": "team-a",
        "userInfo": {"username": "eve", "extra": {"scopes": ["secret-scope"]}},
        "object": obj,
        **more,
    }
    return parse({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": wire})


def pod(value="hunter2"):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": f'{{"env": "{value}"}}', "a": "b"},
        },
        "spec": {
            "initContainers": [{"name": "i", "env": [{"name": "TOKEN", "value": value}]}],
            "containers": [
                {
                    "name": "c",
                    "env": [
                        {"name": "TOKEN", "value": value},
                        {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                }
            ],
        },
    }


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "aHVudGVyMg=="},
          "stringData": {"x": "hunter2"}}  # fmt: skip


@pytest.mark.parametrize("obj", [pod(), SECRET], ids=["pod", "secret"])
def test_no_secret_reaches_the_record(obj):
    """Values of variables, data of Secrets, copies in annotations and user extras are gone from the whole record."""
    recorded = record_of(request(obj, oldObject=obj), ALLOWED, 0.001, "review", 1.0)
    text = json.dumps(recorded)
    assert not any(secret in text for secret in ("hunter2", "aHVudGVyMg==", "secret-scope"))


def test_structure_stays():
    """Names, references and other fields stay, so that a policy that asks whether they are there answers as before."""
    kept = masked(pod())["spec"]["containers"][0]["env"]
    assert kept == [
        {"name": "TOKEN", "value": "***"},
        {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    assert masked(pod())["metadata"]["annotations"]["a"] == "b"
    assert pod() == pod()


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        (Operation("add", "/spec/containers/0/env", [{"name": "A", "value": "x"}]), [{"name": "A", "value": "***"}]),
        (Operation("add", "/spec/containers/0/env/-", {"name": "A", "value": "x"}), {"name": "A", "value": "***"}),
        (Operation("replace", "/spec/containers/0/env/0/value", "x"), "***"),
        (Operation("add", "/spec/containers/0/env/0/name", "x"), "x"),
        (Operation("add", "/spec/suspend", True), True),
        (Operation("replace", "", {"env": [{"name": "A", "value": "x"}]}), {"env": [{"name": "A", "value": "***"}]}),
    ],
)
def test_patches_are_masked(operation, value):
    """A patch that writes a variable's value is recorded without it; other patches as they are."""
    assert masked_operations(request(pod()), [operation])[0]["value"] == value


def test_patch_of_a_secret_is_masked():
    """What a policy writes into a Secret's data is not recorded."""
    (wire,) = masked_operations(request(SECRET), [Operation("add", "/stringData/token", "hunter2")])
    assert wire["value"] == "***"


def lines(folder: Path) -> list[str]:
    return (folder / FILE).read_text().splitlines()


def test_written_reviews_are_read_back(tmp_path):
    """What the recorder wrote is read back as requests with their verdicts, and only its owner may read the file."""
    recorder = Recorder(tmp_path)
    recorder.write(request(pod()), Verdict(False, 422, "Invalid", "no-env: not so"), 0.0025, "validate")
    recorder.close()
    (found,) = read_recording((tmp_path / FILE).read_bytes().splitlines(), "f")
    assert (found.phase, found.latency_ms, found.request.name) == ("validate", 2.5, "p")
    assert found.verdict == {"allowed": False, "code": 422, "message": "no-env: not so"}
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_only_the_drawn_share_is_written(tmp_path):
    """A review is kept where the draw is below the sample rate."""
    draws = iter([0.05, 0.5, 0.1, 0.0])
    recorder = Recorder(tmp_path, RecordLimits(sample=0.1), pick=lambda: next(draws))
    for _ in range(4):
        recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert recorder.written == len(lines(tmp_path)) == 2


def test_large_reviews_are_skipped(tmp_path):
    """A review above the size limit is not written, and counted."""
    recorder = Recorder(tmp_path, RecordLimits(review_bytes=100))
    recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert (recorder.written, recorder.skipped, list(tmp_path.iterdir())) == (0, 1, [])


def test_files_rotate_and_the_oldest_goes(tmp_path):
    """The disk never holds more than the given number of files, each within its size."""
    size = len(json.dumps(record_of(request(pod()), ALLOWED, 0.001, "review", 1.0), separators=(",", ":"))) + 8
    recorder = Recorder(tmp_path, RecordLimits(file_bytes=2 * size, files=3), clock=lambda: 1.0)
    for _ in range(12):
        recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert recorder.written == 12
    assert sorted(p.name for p in tmp_path.iterdir()) == [FILE, f"{FILE}.1", f"{FILE}.2"]
    assert all(p.stat().st_size <= 2 * size for p in tmp_path.iterdir())


def test_a_full_disk_does_not_stop_reviews(tmp_path):
    """Where the folder cannot be made the error is kept, and writing a review still returns."""
    (tmp_path / "file").write_text("")
    recorder = Recorder(tmp_path / "file")
    recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert recorder.failure
    assert (recorder.written, recorder.dropped) == (0, 1)


def test_an_error_is_over_with_the_next_success(tmp_path, monkeypatch, caplog):
    """Each time the disk fails anew it is said once, and what was lost is counted."""
    fails, real = iter([True, True, False, True]), Recorder._append

    def append(recorder, entry):
        if next(fails):
            raise OSError("no space left")
        real(recorder, entry)

    monkeypatch.setattr(Recorder, "_append", append)
    recorder = Recorder(tmp_path)
    for _ in range(4):
        recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert (recorder.written, recorder.dropped, recorder.failure) == (1, 3, "no space left")
    assert caplog.text.count("a review was not recorded") == 2


def test_a_disk_that_is_full_for_a_time_spoils_no_line(tmp_path, monkeypatch):
    """Half a line that reached the disk is taken back: `sluice replay` reads what was written before and after."""
    recorder, full = Recorder(tmp_path), iter([False, True, False])

    class OftenFull(io.FileIO):
        def write(self, line):
            if not next(full):
                return super().write(line)
            super().write(line[:20])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder, "_open", lambda: OftenFull(tmp_path / FILE, "a"))
    for _ in range(3):
        recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    assert recorder.written == 2
    assert len(list(read_recording((tmp_path / FILE).read_bytes().splitlines(), FILE))) == 2


def test_a_line_that_was_half_written_spoils_no_other(tmp_path):
    """A recorder that was killed left it: the next one begins a line of its own, and looks for it once."""
    looks = []

    class Looking(Recorder):
        def _ends_within_a_line(self):
            looks.append("at the first line")
            return super()._ends_within_a_line()

    (tmp_path / FILE).write_bytes(b'{"time": 1, "phase": "mu')
    recorder = Looking(tmp_path)
    for _ in range(2):
        recorder.write(request(pod()), ALLOWED, 0.001)
    recorder.close()
    lines, bad = (tmp_path / FILE).read_bytes().splitlines(), []
    assert looks == ["at the first line"]
    assert len(lines) == 3
    assert len(list(read_recording(lines, FILE, bad.append))) == 2
    assert [str(error).partition(": ")[0] for error in bad] == [f"{FILE}:1"]


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"verdict": {}}', b'{"verdict": {}, "request": 1, "phase": "x"}'])
def test_a_bad_line_is_told_by_its_place(line):
    """A line that is no recorded review is refused with file and line."""
    with pytest.raises(BadRecording, match="f:2: "):
        list(read_recording([b"", line], "f"))


def test_percentiles():
    """Nearest rank, and 0 without values."""
    assert [percentile([3.0, 1.0, 2.0], p) for p in (0, 50, 99)] == [1.0, 2.0, 3.0]
    assert [percentile([1.0, 2.0], p) for p in (50, 51)] == [1.0, 2.0]
    assert percentile([], 50) == 0.0
