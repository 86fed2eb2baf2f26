"""Refusals that tests find in Sluice's logs are asked again: an API server that has just started knows no role."""

import pytest

from tests.controlplane.client import Client
from tests.e2e.rights import grant, lacks
from tests.patience import wait

pytestmark = pytest.mark.cluster

ACCOUNT = 'is forbidden: User "system:serviceaccount:sluice-system:sluice" cannot'
REFUSALS = {
    f'jobs "j" {ACCOUNT} patch resource "jobs/status" in API group "batch" in the namespace "a"': False,
    f'pods {ACCOUNT} watch resource "pods" in API group "" at the cluster scope; retrying in 0.4 s': False,
    f'workloads {ACCOUNT} escalate resource "workloads" in API group "kueue.x-k8s.io" at the cluster scope': True,
    f'secrets "s" {ACCOUNT} get resource "secrets" in API group "" in the namespace "kube-system"': True,
    f'{ACCOUNT} get path "/logs"': True,
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_counts_where_the_right_is_lacking(kube: Client, refusal: str) -> None:
    grant(kube)
    wait(lambda: lacks(kube, refusal) is REFUSALS[refusal], "the API server knows of the roles")
