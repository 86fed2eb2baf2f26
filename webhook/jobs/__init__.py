"""The job kinds: where suspend, pod templates and replica counts stand in each."""
