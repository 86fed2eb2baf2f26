"""Policy files in, an immutable bundle out; matching, validating and mutating by it."""

from webhook.policy.bundle import EMPTY, Bundle
from webhook.policy.loading.load_bundle import load_bundle

__all__ = ["EMPTY", "Bundle", "load_bundle"]
