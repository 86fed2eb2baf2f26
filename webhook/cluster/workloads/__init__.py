"""The status of each Workload: conditions, checks, reasons of waiting, Events."""
