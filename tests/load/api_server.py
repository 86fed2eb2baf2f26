"""What a contender asks of the API server: read from its metrics every few seconds, until it is gone."""

import base64
import ssl
import tempfile
import threading
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.controlplane.metrics import samples

EVERY = 5.0
CONCERNED = ("workloads", "clusterqueues", "localqueues", "events", "leases")
"""The resources whose requests are shown."""
WANTED = (
    "apiserver_request_total",
    "apiserver_watch_events_sizes_sum",
    "apiserver_watch_events_sizes_count",
    "go_cpu_classes_gc_total_cpu_seconds_total",
    "go_cpu_classes_gc_mark_idle_cpu_seconds_total",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
)


@dataclass(slots=True)
class Work:
    """The API server's work: requests by what they are, processor seconds, memory, and the size of a Workload."""

    requests: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0
    collector: float = 0.0
    """Processor seconds of its garbage collector, without those in which the machine had nothing else to do."""
    memory: float = 0.0
    """MiB."""
    workload: float = 0.0
    """Bytes of a Workload on average, in the events that watches were sent."""

    def show(self, name: str, count: int) -> None:
        """Print it; requests for each of so many Workloads."""
        total = sum(self.requests.values())
        print(f"  API server with {name}: {self.cpu:.0f} CPU s, {self.collector:.0f} of them for its garbage, "
              f"{self.memory:.0f} MiB; {total:,} requests, {1000 * self.cpu / max(1, total):.2f} ms each; "
              f"a Workload has {self.workload:,.0f} bytes")  # fmt: skip
        for what, number in self.requests.most_common():
            if what.split()[1].partition("/")[0] in CONCERNED:
                print(f"    {what:50}{number:>8,}{number / count:>8.3f} a Workload", flush=True)


@contextmanager
def followed(kubeconfig: Path) -> Iterator[Work]:
    """Read the metrics meanwhile, from when the kubeconfig is there; `Work` is as they were last."""
    work, over = Work(), threading.Event()

    def follow() -> None:
        while not over.wait(EVERY):
            if kubeconfig.exists():
                try:
                    server, ask = opener(kubeconfig)
                    with ask.open(urllib.request.Request(f"{server}/metrics"), timeout=60) as answer:
                        _take(work, answer.read().decode())
                except (OSError, ValueError):
                    continue  # it is written just now, or the API server has ended

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield work
    finally:
        over.set()
        thread.join()


def _take(work: Work, metrics: str) -> None:
    """Read one text of metrics."""
    requests: Counter[str] = Counter()
    values: defaultdict[str, float] = defaultdict(float)
    for sample in samples(metrics, *WANTED):
        labels = sample.labels
        if sample.name == "apiserver_request_total":
            resource = "/".join(filter(None, (labels["resource"], labels["subresource"])))
            requests[f"{labels['verb']} {resource} {labels['code']}"] += int(sample.value)
        elif labels.get("resource", "workloads") == "workloads":
            values[sample.name] += sample.value
    work.requests = requests
    work.cpu = values["process_cpu_seconds_total"]
    work.collector = (
        values["go_cpu_classes_gc_total_cpu_seconds_total"] - values["go_cpu_classes_gc_mark_idle_cpu_seconds_total"]
    )
    work.memory = values["process_resident_memory_bytes"] / 2**20
    events = max(1, values["apiserver_watch_events_sizes_count"])
    work.workload = values["apiserver_watch_events_sizes_sum"] / events


def opener(kubeconfig: Path) -> tuple[str, urllib.request.OpenerDirector]:
    """Give the API server's URL, and what opens it with the certificate of the runner's administrator.

    Raises OSError, ValueError while the file is being written."""
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        (cluster,), (user,) = config["clusters"], config["users"]
        authority = base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
        pair = [base64.b64decode(user["user"][f"client-{name}-data"]) for name in ("certificate", "key")]
    except (TypeError, KeyError, yaml.YAMLError) as error:
        raise ValueError(f"{kubeconfig} is not whole: {error}") from None
    trust = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(b"\n".join(pair))
        file.flush()
        trust.load_cert_chain(file.name)
    server = str(cluster["cluster"]["server"]).rstrip("/")
    return server, urllib.request.build_opener(urllib.request.HTTPSHandler(context=trust))
