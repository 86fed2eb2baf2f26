"""Findings and test results as documents other tools read: JSON, SARIF, GitHub annotations, JUnit. Pure text makers."""
