"""How much evaluations may cost, in cost units (k8s.io/apiserver/pkg/apis/cel/config.go)."""

from typing import Final

CALL_LIMIT: Final = 1_000_000
"""Of one expression."""
POLICY_LIMIT: Final = 10_000_000
"""Of all expressions of a policy together."""
CONDITIONS_LIMIT: Final = 2_500_000
"""Of its match conditions."""
