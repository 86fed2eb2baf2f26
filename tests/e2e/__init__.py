"""Sluice against the real control plane: whole runs, golden files, and the comparison with native policies."""
