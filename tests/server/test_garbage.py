"""What is refused, denied or cut off leaves no memory behind that only a look for garbage would free.

Such looks are rare in `serve`, since they would keep reviews waiting; a body has up to 8 MiB, the limit is 512.
"""

import asyncio
import gc
import json
from contextlib import contextmanager
from types import FrameType

import orjson
import pytest
import uvloop

from tests.server.serving import review
from tests.server.wire import port, post
from tests.shared import ROOT
from webhook.admission.memory_facts import MemoryFacts
from webhook.admission.pipeline import mutate, validate
from webhook.admission.wire import answer, parse
from webhook.policy.loading.load_bundle import load_bundle

LARGE = 2**20
CONTAINER = {"name": "c", "image": "i:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
TEMPLATES = {
    "a pod": {"spec": {"containers": [CONTAINER]}},
    "half a GPU": {"spec": {"containers": [{**CONTAINER, "resources": {"limits": {"nvidia.com/gpu": "500m"}}}]}},
    "no list of containers": {"spec": {"containers": 5}},
    "no template": None,
    "texts for maps": {"metadata": {"labels": "x", "annotations": "y"}, "spec": "z"},
}


@pytest.fixture(scope="module")
def bundle():
    return load_bundle([ROOT / "policies"])


@contextmanager
def unsought():
    """Nobody looks for garbage meanwhile; what earlier tests left, and what its finalizers leave, is gone before."""
    while gc.collect():
        pass
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("stage", [mutate, validate], ids=lambda stage: stage.__name__)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_review_leaves_nothing(bundle, stage, template):
    """Whatever its policies come to, errors that are absorbed among them."""
    metadata = {"name": "j", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}
    body = json.dumps(review(object=job)).encode()

    def one():
        answer("u", stage(parse(orjson.loads(body)), bundle, MemoryFacts()))

    one()  # what is made once is made
    with unsought():
        one()
        assert gc.collect() == 0


def test_a_client_that_leaves_takes_his_body_along():
    """In the middle of it, whether by his own will or for having been too slow."""

    async def go():
        async with port(body_seconds=0.2) as served:
            for seconds in (0.05, 0.4):
                async with served.talk() as talk:
                    await talk.send(post(b" " * LARGE)[: -LARGE // 4])
                    await asyncio.sleep(seconds)
                    talk.writer.transport.abort()
            await asyncio.sleep(0.05)
            return held()

    with unsought():
        assert uvloop.run(go()) == []


def held():
    """The sizes of bodies that a frame still has."""
    frames = [each for each in gc.get_objects() if isinstance(each, FrameType)]
    found = (value for frame in frames for value in frame.f_locals.values())
    return [len(value) for value in found if isinstance(value, bytes | bytearray) and len(value) > LARGE // 4]
