"""What a pod asks for, against the rules of the API server."""

from webhook.api.requests import pod_requests, with_defaults

UNIT = 10**9


def test_containers_add_up_and_a_limit_stands_in_for_a_request():
    """Requests of containers are summed; a container with a limit alone counts with the limit."""
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
            {"resources": {"limits": {"cpu": 1, "nvidia.com/gpu": "2"}}},
        ]
    }
    assert pod_requests(spec) == {"cpu": 15 * UNIT // 10, "memory": 2**30 * UNIT, "nvidia.com/gpu": 2 * UNIT}


def test_an_init_container_counts_only_where_it_needs_more():
    """The peak of init containers replaces the sum where it is higher, for each resource alone."""
    spec = {
        "initContainers": [{"resources": {"requests": {"cpu": "3", "memory": "1"}}}],
        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "5"}}}],
    }
    assert pod_requests(spec) == {"cpu": 3 * UNIT, "memory": 5 * UNIT}


def test_a_sidecar_counts_beside_containers_and_beside_later_init_containers():
    """A restarting init container adds to the sum, and to what init containers after it need."""
    spec = {
        "initContainers": [
            {"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"},
            {"resources": {"requests": {"cpu": "4"}}},
        ],
        "containers": [{"resources": {"requests": {"cpu": "2"}}}],
    }
    assert pod_requests(spec) == {"cpu": 5 * UNIT}


def test_overhead_is_added_and_pod_level_requests_replace_the_sum():
    """`spec.resources` wins over the containers for cpu and memory only, and overhead comes on top."""
    spec = {
        "resources": {"requests": {"cpu": "8", "nvidia.com/gpu": "9"}},
        "overhead": {"cpu": "250m"},
        "containers": [{"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}],
    }
    assert pod_requests(spec) == {"cpu": 825 * UNIT // 100, "nvidia.com/gpu": UNIT}


def test_limit_ranges_fill_what_is_missing_and_nothing_else():
    """A LimitRange's defaults reach a container that says nothing, and never overwrite what it says."""
    ranges = [{"spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}]}}]
    spec = {"containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "4"}}}]}
    assert with_defaults(spec, ranges)["containers"] == [
        {"name": "a", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}},
        {"name": "b", "resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}},
    ]
    assert spec["containers"][0] == {"name": "a"}


def test_a_limit_range_with_max_alone_gives_limit_and_request():
    """`max` stands in for `default`, and `default` for `defaultRequest`, as core/v1 defaulting has it."""
    ranges = [{"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}, {"type": "Pod", "max": {"cpu": "1"}}]}}]
    (container,) = with_defaults({"containers": [{"name": "a"}]}, ranges)["containers"]
    assert container["resources"] == {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}


def test_a_limit_of_the_whole_pod_stands_in_where_nothing_else_is_asked():
    """Its request for a resource is what containers ask for; where none does, it is the pod's own limit."""
    containers = [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {}}]
    spec = {"containers": containers, "resources": {"limits": {"cpu": "4", "memory": "2", "example.com/x": "1"}}}
    assert pod_requests(spec) == {"cpu": UNIT, "memory": 2 * UNIT}
    asked = {**spec, "resources": {**spec["resources"], "requests": {"cpu": "3"}}}
    assert pod_requests(asked) == {"cpu": 3 * UNIT, "memory": 2 * UNIT}


def test_a_limit_of_the_whole_pod_is_its_request_before_a_limit_range_gives_containers_theirs():
    """As the API server fills in a Pod when it reads it; LimitRanges come after that. What containers ask for wins."""
    ranges = [{"spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "3"}}]}}]
    whole = {"resources": {"limits": {"cpu": "4", "example.com/x": "1"}}}
    assert pod_requests(with_defaults({**whole, "containers": [{"name": "a"}]}, ranges)) == {"cpu": 4 * UNIT}
    asking = {**whole, "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}
    assert pod_requests(with_defaults(asking, ranges)) == {"cpu": UNIT}
