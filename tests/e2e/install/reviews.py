"""Requests that never end, by which a test sees whether one fails."""

import threading

from tests.controlplane.client import ApiError, Client
from tests.e2e.sluice import managed


class Reviews(threading.Thread):
    """Creates objects that are reviewed and reads some that are converted, all the time, until the end of a block."""

    def __init__(self, client: Client, namespace: str) -> None:
        super().__init__()
        client.apply(managed(namespace))
        self.client, self.namespace, self.over = client, namespace, threading.Event()
        self.made, self.failed = 0, list[str]()

    def __enter__(self) -> "Reviews":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.join()

    def run(self) -> None:
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "r-", "namespace": self.namespace}}
        container = {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1"}}}
        job["spec"] = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        while not self.over.is_set():
            try:
                self.client.create(job, dry_run=True)
                self.client.items("/apis/kueue.x-k8s.io/v1beta1/clusterqueues")  # converted by the same server
                self.made += 1
            except Exception as error:
                if not isinstance(error, ApiError) or error.status != 429:  # a CRD's storage opens anew: try again
                    self.failed.append(f"{type(error).__name__}: {error}")
