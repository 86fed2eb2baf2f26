"""WorkloadPriorityClass, kueue.x-k8s.io: the same in v1beta1 and v1beta2."""

from __future__ import annotations

from typing import Annotated

from webhook.api.types.fields import Api, Int32, doc


class WorkloadPriorityClass(Api, frozen=True, kw_only=True):
    """A name for a priority that counts in the queue only, not among running pods."""

    value: Annotated[Int32, doc("The priority; higher values go first.")]
    description: Annotated[str, doc("When to use this class.", max_length=2048)] = ""
