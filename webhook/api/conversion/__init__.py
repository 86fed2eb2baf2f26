"""Objects of kueue.x-k8s.io/v1beta1 as v1beta2, and back."""
