"""`sluice test`: suites of cases, run against policies, with coverage."""
