"""A pod template that stands in as a Pod, so that a policy on Pods is evaluated inside every job kind."""

from __future__ import annotations

from typing import Any

from webhook.documents import Path

EMPTY: dict[str, Any] = {}


class EvaluationTarget:
    """What a policy is evaluated on: the object itself (`path` None), or a template inside it as a Pod.

    `writable` is False for templates that are made up from other fields.
    """

    __slots__ = ("object", "old", "path", "template", "writable")

    # No data class: in the compiled wheel too its constructor would be Python code, and each policy needs one.
    def __init__(
        self,
        path: Path | None,
        writable: bool,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        template: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.writable, self.object, self.old, self.template = path, writable, obj, old, template

    def moved(self, obj: Any) -> EvaluationTarget:
        """Give the same place in an object that came of a change; this very target where its template is the same."""
        if not self.writable or self.path is None:
            return self
        template = find(obj, self.path)
        return (
            self
            if template is self.template
            else EvaluationTarget(self.path, True, as_pod(template), self.old, template)
        )

    def changed(self, pod: dict[str, Any]) -> EvaluationTarget:
        """Give the same place with metadata and spec of a changed Pod; this very target where it has both already."""
        before, template = self.object, self.template
        if before is None or template is None:
            return self
        after = template
        for field in ("metadata", "spec"):
            if field in pod and pod[field] is not before.get(field):
                after = {**after, field: pod[field]}
        return self if after is template else EvaluationTarget(self.path, True, as_pod(after), self.old, after)


def target_at(obj: Any, old: Any, path: Path, template: dict[str, Any], made: bool) -> EvaluationTarget:
    """Give a template at a path of an object, the old object's beside it; one that is `made` up has no place."""
    if made:
        return EvaluationTarget(path, False, as_pod(template), None, template)
    template = find(obj, path)
    return EvaluationTarget(path, True, as_pod(template), None if old is None else as_pod(find(old, path)), template)


def as_pod(template: Any) -> dict[str, Any] | None:
    """Make a Pod of a template; metadata and spec are shared, not copied."""
    if not isinstance(template, dict):
        return None
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template.get("metadata") or EMPTY,
        "spec": template.get("spec") or EMPTY,
    }


def find(obj: Any, path: Path) -> Any:
    """Give the value at a path, None where it is not there."""
    for step in path:
        try:
            obj = obj[step]
        except (KeyError, IndexError, TypeError):
            return None
    return obj
