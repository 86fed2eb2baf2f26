"""Tests of the CEL compiler: language, checker, the two forms, costs, limits."""
