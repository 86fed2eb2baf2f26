"""The status of each Workload: conditions, admission checks, reasons for waiting, Events."""
