"""The function libraries of the API server at 1.36: each module here that has rows exports them as `FUNCTIONS`.

A name may stand in several modules (`string`, `ip`, `indexOf`); `functions.py` puts their overloads
together. Operators and optionals are in `standard.py`, beside this folder.
"""
