"""Field types for the API types: descriptions and bounds, names, quantities, shared value types.

A type is a msgspec Struct whose fields are `Annotated[type, doc(...)]`; `schema.py` turns it into OpenAPI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUALIFIED: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
"""A label's key: a name, with a domain before a slash or without."""
REASON: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_UNSIGNED: Final = (
    r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
QUANTITY: Final = r"^(\+|-)?" + _UNSIGNED
AMOUNT: Final = r"^\+?" + _UNSIGNED
"""A quantity of 0 or more."""


BOUNDS: Final = "bounds"
"""Where `doc` keeps bounds until `schema.py` knows what kind of value they are for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule that the API server itself checks (`x-kubernetes-validations`)."""

    rule: str
    message: str


class Api(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of every API type. `RULES` are checked on each object of the type."""

    RULES: ClassVar[tuple[Rule, ...]] = ()


def doc(text: str, *, keys: tuple[str, ...] = (), kind: str = "", rules: tuple[Rule, ...] = (), **bounds: Any) -> Any:
    """Describe a field in one sentence and bound it.

    `keys` makes a list a map with these keys; `kind` is `atomic`, `set` or `map`; `bounds` (`ge`, `le`, `min_length`,
    `max_length`, `pattern`) are for texts, numbers, lists and maps alike; the schema carries them, reading does not.
    """
    extra: dict[str, Any] = {BOUNDS: bounds} if bounds else {}
    if keys:
        extra |= {"x-kubernetes-list-map-keys": list(keys), "x-kubernetes-list-type": "map"}
    elif kind:
        extra["x-kubernetes-map-type" if kind == "map" else "x-kubernetes-list-type"] = (
            "atomic" if kind == "map" else kind
        )
    if rules:
        extra["x-kubernetes-validations"] = [{"rule": r.rule, "message": r.message} for r in rules]
    return msgspec.Meta(description=text, extra_json_schema=extra or None)


IMMUTABLE: Final = Rule("self == oldSelf", "the field cannot be changed once it is set")
Name = Annotated[str, msgspec.Meta(max_length=253, pattern=SUBDOMAIN)]
Label = Annotated[str, msgspec.Meta(max_length=63, pattern=LABEL)]
CheckName = Annotated[str, msgspec.Meta(min_length=1, max_length=316)]
Quantity = Annotated[
    int | str, msgspec.Meta(extra_json_schema={"pattern": QUANTITY, "x-kubernetes-int-or-string": True})
]
Amount = Annotated[
    int | str, msgspec.Meta(extra_json_schema={"pattern": AMOUNT, "minimum": 0, "x-kubernetes-int-or-string": True})
]
"""A quantity of 0 or more: `minimum` is for numbers, `pattern` for texts."""
Int32 = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int32"})]
Int64 = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int64"})]
Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
Free = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})]
"""An object of another API, kept as it is."""
Quantities = dict[str, Quantity]
Labels = dict[str, str]


class LabelSelectorRequirement(Api, frozen=True, kw_only=True):
    """One condition on a label."""

    key: Annotated[str, doc("The label's key.")]
    operator: Annotated[Literal["In", "NotIn", "Exists", "DoesNotExist"], doc("Operator.")]
    values: Annotated[list[str], doc("Values to compare with; empty for Exists and DoesNotExist.", kind="atomic")] = (
        msgspec.field(default_factory=list)
    )


class LabelSelector(Api, frozen=True, kw_only=True):
    """Conditions on labels; all must hold, and an empty selector selects everything."""

    match_expressions: Annotated[list[LabelSelectorRequirement], doc("Label selector requirements.", kind="atomic")] = (
        msgspec.field(default_factory=list)
    )
    match_labels: Annotated[Labels, doc("Labels and their required values.")] = msgspec.field(default_factory=dict)


class Condition(Api, frozen=True, kw_only=True):
    """A fact about an object that changes with time, as in meta/v1."""

    type: Annotated[str, doc("Type of the condition.", max_length=316, pattern=QUALIFIED)]
    status: Annotated[Literal["True", "False", "Unknown"], doc("True, False or Unknown.")]
    reason: Annotated[
        str, doc("Reason of the last change, in CamelCase.", min_length=1, max_length=1024, pattern=REASON)
    ]
    message: Annotated[str, doc("Message about the last change.", max_length=32768)]
    last_transition_time: Annotated[Time, doc("Time of the last change of `status`.")]
    observed_generation: Annotated[
        Int64 | None, doc("Generation of the object that the condition was computed from.", ge=0)
    ] = None


class Taint(Api, frozen=True, kw_only=True):
    """A taint that the nodes of a flavor carry."""

    key: Annotated[str, doc("The taint's key.")]
    effect: Annotated[Literal["NoSchedule", "PreferNoSchedule", "NoExecute"], doc("What it does to pods.")]
    value: Annotated[str, doc("The taint's value.")] = ""
    time_added: Annotated[Time | None, doc("When it was added to the node; not used.")] = None


class Toleration(Api, frozen=True, kw_only=True):
    """A toleration for taints."""

    RULES = (
        Rule("has(self.key) || (has(self.operator) && self.operator == 'Exists')",
             "without a key, operator must be Exists"),
        Rule("!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
             "tolerationSeconds requires the effect NoExecute"),
        Rule("!has(self.operator) || self.operator != 'Exists' || !has(self.value)",
             "operator Exists takes no value"),
    )  # fmt: skip

    key: Annotated[str | None, doc("The key of the taint. Absent with operator Exists: every taint.")] = None
    operator: Annotated[Literal["Equal", "Exists"] | None, doc("Operator. Default: Equal.")] = None
    value: Annotated[str | None, doc("The taint's value.")] = None
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None, doc("The effect. Default: all effects.")
    ] = None
    toleration_seconds: Annotated[
        Int64 | None, doc("Seconds that a NoExecute taint is tolerated. Default: forever.")
    ] = None


STOP_POLICY = Literal["None", "Hold", "HoldAndDrain"]
"""Hold stops new admissions; HoldAndDrain also evicts admitted workloads."""
