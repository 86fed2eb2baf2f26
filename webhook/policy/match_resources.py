"""Which requests a policy or a binding is for: resource rules, selectors, scope (MatchResources of v1).

What only depends on the kind of a request (group, version, resource, operation) is decided once per kind, in
`narrow`; what is left for each request is a `RequestMatcher`. Match conditions are CEL and not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.kube.gvk import GroupVersionResource
from webhook.kube.selectors import Predicate, compile_selector
from webhook.policy.request import Request

_SYNONYMS: Final = {
    ("extensions", "ingresses"): ("networking.k8s.io", "ingresses"),
    ("", "events"): ("events.k8s.io", "events"),
}
"""Resources that the API server serves in two groups."""


NO_LABELS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ResourceOperation:
    """The kind of a request: what rules can be decided on before a request is there."""

    group: str
    version: str
    resource: str
    sub_resource: str
    operation: str
    asked: GroupVersionResource | None = None
    """How the client named the resource, where the API server converted the object for us."""

    @classmethod
    def of(cls, request: Request) -> ResourceOperation:
        """Return the kind of a request."""
        return cls(*fields_of(request))

    def names(self, *, equivalent: bool) -> tuple[ResourceOperation, ...]:
        """Return the names that a policy goes by: for Exact only what the client asked for."""
        if self.asked is None:
            return (self,)
        own = ResourceOperation(
            self.asked.group, self.asked.version, self.asked.resource, self.sub_resource, self.operation
        )
        return (self, own) if equivalent else (own,)


Fields = tuple[str, str, str, str, str, GroupVersionResource | None]
"""What a ResourceOperation is made of: a key that costs little to make for each request."""


def fields_of(request: Request) -> Fields:
    """Return the fields of the request's kind, in the order of `ResourceOperation`."""
    resource, asked = request.resource, request.request_resource
    return (
        resource.group,
        resource.version,
        resource.resource,
        request.sub_resource,
        request.operation,
        None if asked is resource or asked == resource else asked,
    )


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """One of `resourceRules`. `resources` are pairs of resource and subresource; `*` stands for all."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    operations: frozenset[str]
    names: frozenset[str]
    scope: str

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> ResourceRule:
        """Read a rule from its fields."""
        pairs = (r.partition("/") for r in spec.get("resources") or ())
        return cls(
            frozenset(spec.get("apiGroups") or ()),
            frozenset(spec.get("apiVersions") or ()),
            tuple((resource, sub) for resource, _, sub in pairs),
            frozenset(spec.get("operations") or ()),
            frozenset(spec.get("resourceNames") or ()),
            spec.get("scope") or "*",
        )

    def fits(self, target: ResourceOperation, *, any_version: bool = False) -> bool:
        """Return whether the rule is for this kind of request, names and scope left aside."""
        return (
            (target.operation in self.operations or "*" in self.operations)
            and (target.group in self.groups or "*" in self.groups)
            and (any_version or target.version in self.versions or "*" in self.versions)
            and any(r in ("*", target.resource) and s in ("*", target.sub_resource) for r, s in self.resources)
        )

    @property
    def plain(self) -> bool:
        """Whether nothing is left to ask of a request that it fits."""
        return not self.names and self.scope == "*"

    def holds(self, request: Request) -> bool:
        """Return whether the request's name and scope match."""
        if self.names and request.name not in self.names:
            return False
        if self.scope == "*":
            return True
        resource = request.resource
        cluster = not request.namespace or (resource.group == "" and resource.resource == "namespaces")
        return cluster is (self.scope == "Cluster")


@dataclass(frozen=True, slots=True)
class MatchResources:
    """A policy's `matchConstraints` or a binding's `matchResources`. A selector is None where it takes everything.

    `equivalent` is matchPolicy: a request for the same resource by another name matches too. The object is not
    converted: expressions see the version of the request (docs/decisions/0060).
    """

    rules: tuple[ResourceRule, ...]
    excludes: tuple[ResourceRule, ...]
    namespace_selector: Predicate | None
    object_selector: Predicate | None
    equivalent: bool

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> MatchResources:
        """Read it from its fields; matchPolicy is Equivalent where nothing else is said. Raises SelectorError."""
        namespaces, objects = spec.get("namespaceSelector"), spec.get("objectSelector")
        return cls(
            tuple(map(ResourceRule.of, spec.get("resourceRules") or ())),
            tuple(map(ResourceRule.of, spec.get("excludeResourceRules") or ())),
            compile_selector(namespaces) if namespaces else None,
            compile_selector(objects) if objects else None,
            spec.get("matchPolicy") != "Exact",
        )

    def narrow(self, targets: Iterable[ResourceOperation]) -> RequestMatcher | None:
        """Decide what the kind of request decides; None where no request of that kind can match.

        Several targets are several names for the same kind; the first is the request's own.
        """
        targets = tuple(name for target in targets for name in target.names(equivalent=self.equivalent))
        excludes = _fitting(self.excludes, targets, self.equivalent)
        if any(rule.plain for rule in excludes):
            return None
        rules = _fitting(self.rules, targets, self.equivalent)
        if self.rules and not rules:
            return None
        if not self.rules or any(rule.plain for rule in rules):
            rules = ()
        return RequestMatcher(rules, excludes, self.namespace_selector, self.object_selector)


@dataclass(frozen=True, slots=True)
class RequestMatcher:
    """What is left of a MatchResources for requests of one kind. Empty `rules` hold."""

    rules: tuple[ResourceRule, ...]
    excludes: tuple[ResourceRule, ...]
    namespace_selector: Predicate | None
    object_selector: Predicate | None

    @property
    def open(self) -> bool:
        """Whether it holds for every request."""
        return not self.rules and not self.excludes and self.namespace_selector is None

    def in_namespace(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether the namespace's labels match; None for an object without a namespace."""
        return labels is None or self.namespace_selector is None or self.namespace_selector(labels)

    def named(self, request: Request) -> bool:
        """Return whether names and scope match."""
        if self.rules and not any(rule.holds(request) for rule in self.rules):
            return False
        return not (self.excludes and any(rule.holds(request) for rule in self.excludes))

    def selects(self, obj: dict[str, Any] | None, old: dict[str, Any] | None) -> bool:
        """Return whether the labels of the object, or of the old one, match.

        Options of a CONNECT have no metadata, so that no selector takes them, as in the API server.
        """
        select = self.object_selector
        if select is None:
            return True
        return any(o is not None and "metadata" in o and select(labels_of(o)) for o in (obj, old))


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """Return an object's labels; none where they are absent or no map."""
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else NO_LABELS


def _fitting(
    rules: tuple[ResourceRule, ...], targets: tuple[ResourceOperation, ...], equivalent: bool
) -> tuple[ResourceRule, ...]:
    """Return the rules that match; with matchPolicy Equivalent, the same resource in another version matches.

    So it does beside a rule for this version: the name or scope of that one may not match.
    """
    if not equivalent:
        return tuple(rule for rule in rules if any(map(rule.fits, targets)))
    targets = (*targets, *(other for t in targets for other in _synonyms(t)))
    return tuple(rule for rule in rules if any(rule.fits(t, any_version=True) for t in targets))


def _synonyms(target: ResourceOperation) -> Iterable[ResourceOperation]:
    for group, resource in synonyms(target.group, target.resource):
        yield ResourceOperation(group, target.version, resource, target.sub_resource, target.operation)


def synonyms(group: str, resource: str) -> Iterable[tuple[str, str]]:
    """Return the other names (group, resource) of a resource."""
    for one, two in _SYNONYMS.items():
        for here, there in ((one, two), (two, one)):
            if (group, resource) == here:
                yield there
