"""Which labels of a job its Workload has: all of them, as they are now, or those of labelKeysToCopy, as they were."""

import asyncio

import pytest

from tests.cluster.small_cluster import JOB, job, queues, small_cluster
from webhook.api.configuration.sections import Integrations, QueueSettings
from webhook.store.objects import merge

GIVEN = {"team": "a", "stage": "one"}
LATER = {"team": "b", "stage": "two"}


@pytest.mark.parametrize(
    ("keys", "first", "then"),
    [
        (None, GIVEN, LATER),
        ((), {}, {}),
        (("team",), {"team": "a"}, {"team": "a"}),
    ],
)
def test_a_workload_has_the_labels_that_the_settings_say(keys, first, then):
    """Without the setting they follow the job. With it they are copied once, whatever is edited later."""
    settings = QueueSettings(integrations=Integrations(label_keys_to_copy=keys))

    async def labels(w):
        found = (await w.workload("b"))["metadata"].get("labels") or {}
        return {key: value for key, value in found.items() if key in GIVEN}

    async def go():
        async with small_cluster(*queues("1"), seconds=None, settings=settings) as w:
            await w.create(job("a"))
            await w.until_condition("a", "Admitted")
            await w.create(merge(job("b"), {"metadata": {"labels": GIVEN}}))
            await w.until_condition("b", "QuotaReserved", "False")
            before = await labels(w)
            edit = {"metadata": {"labels": LATER, "annotations": {"sluice.dev/user": "bob"}}}
            await w.store.patch(JOB, "b", "team-a", edit)

            async def seen():
                return (await w.workload("b"))["metadata"]["annotations"].get("sluice.dev/user") == "bob"

            await w.until(seen, "the edit is seen")
            return before, await labels(w)

    assert asyncio.run(go()) == (first, then)
