"""AdmissionReview in, verdict out: pure functions. The server around them is in `webhook.server`."""

from webhook.admission.pipeline import mutate, review, validate

__all__ = ["mutate", "review", "validate"]
