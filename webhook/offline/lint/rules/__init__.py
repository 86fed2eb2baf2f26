"""The rules of `sluice lint`, a file for each subject."""
