"""How much evaluations may cost, in cost units (k8s.io/apiserver/pkg/apis/cel/config.go).

They are enforced while an expression runs (`program.py`, `budget.py`), as by the API server: no policy is refused for
what it may cost. `sluice lint` estimates it (`webhook/offline/lint/rules/costs.py`).
"""

from typing import Final

CALL_LIMIT: Final = 1_000_000
"""Of one expression."""
POLICY_LIMIT: Final = 10_000_000
"""Of all expressions of a policy together."""
CONDITIONS_LIMIT: Final = 2_500_000
"""Of its match conditions."""
