"""Findings and test results for other tools: JSON, SARIF, GitHub annotations, JUnit. Pure: they return text."""
