"""AdmissionCheck, kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from webhook.api.types.fields import IMMUTABLE, LABEL, SUBDOMAIN, Api, Condition, doc

KIND: Final = r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"


class AdmissionCheckParametersReference(Api, frozen=True, kw_only=True):
    """The object that holds the parameters of a check."""

    api_group: Annotated[str, doc("Its API group.", min_length=1, max_length=253, pattern=SUBDOMAIN)]
    kind: Annotated[str, doc("Its kind.", min_length=1, max_length=63, pattern=KIND)]
    name: Annotated[str, doc("Its name.", min_length=1, max_length=63, pattern=LABEL)]


class AdmissionCheckSpec(Api, frozen=True, kw_only=True):
    """A check that somebody else answers before a workload with quota is admitted."""

    controller_name: Annotated[str, doc("Who answers.", min_length=1, max_length=253, rules=(IMMUTABLE,))]
    parameters: Annotated[AdmissionCheckParametersReference | None, doc("Parameters for the controller.")] = None


class AdmissionCheckStatus(Api, frozen=True, kw_only=True):
    """Whether the check works."""

    conditions: Annotated[
        list[Condition], doc("`Active`: whether its controller is ready.", keys=("type",), max_length=16)
    ] = msgspec.field(default_factory=list)


class AdmissionCheck(Api, frozen=True, kw_only=True):
    """A check between quota reservation and admission."""

    spec: Annotated[AdmissionCheckSpec, doc("Desired state.")]
    status: Annotated[AdmissionCheckStatus | None, doc("What is.")] = None
