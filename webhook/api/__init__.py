"""The objects of the queue: their types, their CRDs, their versions, and how a job becomes a Workload.

Values in, values out. What is decided over them is in `queue/`, what is read from files in `policy/load.py`.
"""
