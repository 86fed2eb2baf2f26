"""`sluice lint`: rules over documents. A rule is a pure function from the documents to findings; see `all_rules.py`."""
