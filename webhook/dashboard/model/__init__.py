"""Every answer of the page's API, as it goes over the wire: names in camelCase, every field always there.

`source` says where the past comes from: the journal, or the memory of this replica since it started.

Units: amounts are the core's numbers (thousandths of `cpu`, bytes of memory, whole units of all else); times are
milliseconds since the epoch, durations milliseconds; 0 is "not known" for a time. `revision` counts
the changes of the queues' state; two answers of one revision tell of the same state.
"""
