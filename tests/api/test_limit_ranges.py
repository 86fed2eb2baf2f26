"""What keeps pods from being created: their own limits, and the LimitRanges of their namespace."""

import pytest

from webhook.api.limit_ranges import problem_of


def container(asked, most):
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": asked}, "limits": {"cpu": most}}}]}


def limit_range(kind, **bounds):
    bounds = {bound: {"cpu": value} for bound, value in bounds.items()}
    return {"metadata": {"name": "r"}, "spec": {"limits": [{"type": kind, **bounds}]}}


INVALID, UNSATISFIED = "resources validation failed: ", "resources didn't satisfy LimitRange constraints: "
POD = {**container("1", "2"), "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}}


@pytest.mark.parametrize(
    ("spec", "ranges", "problem"),
    [
        (container("2", "3"), [], ""),
        (container("2", "3"), [limit_range("Container", min="1", max="4"), limit_range("Pod", max="4")], ""),
        (container("3", "2"), [], INVALID + "container c requests 3 cpu, above its limit of 2"),
        (container("-1", "2"), [], INVALID + "container c requests -1 cpu: a request must not be negative"),
        (POD, [], INVALID + "the pod requests 3 cpu, above its limit of 2"),
        (container("2", "3"), [limit_range("Container", max="1")],
         UNSATISFIED + "container c requests more cpu than LimitRange r allows: the maximum is 1"),
        (container("2", "3"), [limit_range("Pod", min="3")],
         UNSATISFIED + "the pod requests less cpu than LimitRange r allows: the minimum is 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(spec, ranges, problem):
    """The message begins as Kueue's does, and says which container asks for what, and what is allowed."""
    assert problem_of([spec], ranges) == problem
