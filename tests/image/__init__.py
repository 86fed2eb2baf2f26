"""The image without a container builder: its Containerfile read, its steps run as plain commands into a folder."""
