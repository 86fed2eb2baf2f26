"""Certificates that Sluice makes and rotates for itself, in a Secret: when, in which order, and by whom."""
