"""The API objects of the queue: types, CRDs, version conversion, and the Workload of a job. Pure functions of values.

Decisions over them are in `webhook.queue`; policies are loaded in `webhook.policy.loading`.
"""
