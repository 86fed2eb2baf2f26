"""What `/readyz?verbose` says of kinds that are not listed: why, and whether waiting for it would be in vain."""

from types import SimpleNamespace

import pytest

from webhook import readiness

HERE = "sluice.sluice-system"
FAILED = 'conversion webhook for kueue.x-k8s.io/v1beta1, Kind=Workload failed: Post "https://{}.svc:443/convert": '


def condition(of_view, of_params=None):
    view = SimpleNamespace(problems=lambda kinds: of_view)
    params = SimpleNamespace(problems=lambda kinds: of_params or {})
    files = SimpleNamespace(current=SimpleNamespace(bundle=SimpleNamespace(param_kinds=())))
    found = readiness.view(view, (), params, files, HERE)()
    return found.ok, found.detail


@pytest.mark.parametrize(
    ("problems", "ok", "detail"),
    [
        ({}, True, ""),
        ({"Workload": ""}, False, "not listed yet: Workload"),
        ({"Workload": "cannot reach the API server"}, False,
         "not listed yet: Workload (cannot reach the API server)"),
        ({"Workload": FAILED.format(HERE) + "no endpoints available"}, True,
         "not listed yet: Workload (the API server needs this server's /convert)"),
        ({"Workload": FAILED.format("kueue-webhook-service.kueue-system") + "not found"}, False,
         "not listed yet: Workload (its CRD converts at kueue-webhook-service.kueue-system, which does not answer; if "
         "that Kueue is gone: sluice crds --take-over)"),
        ({"Workload": FAILED.format(HERE) + "x509", "Job": ""}, False,
         "not listed yet: Workload (the API server needs this server's /convert), Job"),
    ],
    ids=["all listed", "not yet", "a failure", "converted here", "converted by a Kueue", "and another"],
)  # fmt: skip
def test_what_is_not_listed_is_told(problems, ok, detail):
    """A kind that only this server can convert does not keep it from being ready: no request for it would come."""
    assert condition(problems) == (ok, detail)
    assert condition({}, problems) == (ok, detail)
