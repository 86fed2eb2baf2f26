"""`sluice simulate`: runs a trace of jobs against queues and rules in virtual time."""
