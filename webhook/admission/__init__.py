"""AdmissionReview in, verdict out: pure functions. The server around them is in `webhook.server`."""
