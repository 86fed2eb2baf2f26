"""A small cluster made up for the tests and pictures of the page: two labs that share GPUs, one job that waits."""
