"""Whether somebody edited a Workload that waits, so that it does not say what its job asks for. Pure.

Kueue sets its queue right (QueueNameChange in pkg/controller/jobframework), and its pods (EquivalentToWorkload there).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.kube import quantity
from webhook.store.objects import Object

WHOLE: Final = frozenset({"minCount", "initContainers", "tolerations", "resources", "requests", "limits"})
"""Fields of a pod set, on any level, that may not be there where the draft does not have them: Kueue compares them.

Of others the API server, or a webhook, may add such as the CRD's schema has defaults for.
"""


def is_edited(draft: Object, workload: Object) -> bool:
    """Return whether the queue or the pod sets of a Workload are others than those of its draft.

    What the draft says must be there, lists with as many items. A client in Go leaves out what says nothing, and
    writes numbers in its own notation.
    """
    wanted, has = draft["spec"], workload["spec"]
    same_queue = (wanted.get("queueName") or "") == (has.get("queueName") or "")
    return not same_queue or not _says(wanted["podSets"], has.get("podSets"), whole=False)


def _says(wanted: Any, has: Any, *, whole: bool) -> bool:
    """Return whether `has` says what `wanted` does; if `whole`, and has no other names."""
    if wanted == has or (not wanted and not has):
        return True
    if isinstance(wanted, Mapping) and isinstance(has, Mapping):
        names = wanted.keys() | (has.keys() if whole else has.keys() & WHOLE)
        return all(_says(wanted.get(name), has.get(name), whole=name in WHOLE) for name in names)
    if isinstance(wanted, list) and isinstance(has, list):
        return len(wanted) == len(has) and all(_says(w, h, whole=False) for w, h in zip(wanted, has, strict=True))
    return _amount(wanted) is not None and _amount(wanted) == _amount(has)


def _amount(value: Any) -> int | None:
    """Return a quantity in billionths, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity.parse(value).nanos
    except ValueError:
        return None
