"""`sluice simulate`: a trace of work against queues and rules in virtual time."""
