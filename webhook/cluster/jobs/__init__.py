"""One job and its Workload, brought one step further: suspend, start, restore, finish."""
