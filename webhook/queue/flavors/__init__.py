"""Which flavors a workload's pod sets take, and what each would need."""
