"""`sluice dry-run`: what would happen to objects under policies, and what a change of policies changes.

`compare.py` says which objects two sets of policies treat otherwise; what one set of queue rules decides is shown by
`webhook/offline/plan`.
"""
