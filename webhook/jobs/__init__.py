"""The job kinds: where each has its suspend field, pod templates and replica counts."""
