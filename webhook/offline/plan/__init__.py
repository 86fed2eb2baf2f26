"""`sluice plan`: the objects of a cluster in, queue decisions out.

It shows what one set of queue rules decides; which objects two sets of policies treat otherwise is said by
`webhook/offline/dryrun/compare.py`.
"""
