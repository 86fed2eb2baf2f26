"""A set of policy files in force: checked in a process of its own, taken over, swapped in as one."""
