"""A compiler for CEL as the Kubernetes API server speaks it: text -> checked tree -> Python function.

Knows no policy and no Kubernetes object; `Env` says what the variables are.
"""
