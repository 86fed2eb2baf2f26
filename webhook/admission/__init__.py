"""Admission: from an AdmissionReview to a verdict, as pure functions. The server is in `webhook.server`."""

from webhook.admission.pipeline import mutate, review, validate

__all__ = ["mutate", "review", "validate"]
