"""The gate: what the queue core would say to a job that asks to come in, from this replica's own view.

Answers from memory and records nothing, so a dry run leaves no trace. A job that can never fit is refused with the
numbers; any other is let in, with a line on where it stands.
"""

from __future__ import annotations

from typing import Any

from webhook.admission.facts import GateAnswer
from webhook.cluster.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from webhook.cluster.view import View
from webhook.jobs.describe import at
from webhook.jobs.model import Job


class ViewGate:
    """Judges jobs by the queues in the view."""

    def __init__(self, view: View) -> None:
        self._view = view

    def ask(self, job: Job, obj: dict[str, Any], namespace: str, dry_run: bool) -> GateAnswer:
        """Say whether the job can ever fit its queue, and where it would stand."""
        queue = job.queue or ""
        local = self._view.mirror(LOCAL_QUEUE).get(queue, namespace)
        if local is None:
            names = sorted(door["metadata"]["name"] for door in self._view.mirror(LOCAL_QUEUE).all(namespace))
            known = f"; this namespace has {', '.join(names)}" if names else "; this namespace has none"
            return GateAnswer(True, warnings=(f"queue {namespace}/{queue}: there is no such LocalQueue{known}",))
        target = str(at(local, ("spec", "clusterQueue")) or "")
        cluster_queue = self._view.mirror(CLUSTER_QUEUE).get(target)
        if cluster_queue is None:
            return GateAnswer(True, warnings=(f"queue {namespace}/{queue}: its ClusterQueue {target} is not there",))
        for what, spec in ((f"queue {namespace}/{queue}", local), (f"ClusterQueue {target}", cluster_queue)):
            if (at(spec, ("spec", "stopPolicy")) or "None") != "None":
                return GateAnswer(True, warnings=(f"{what} is stopped: the job waits until it is opened again",))
        return GateAnswer(True)
