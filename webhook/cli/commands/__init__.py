"""The commands, a file for each, in a folder for each section of the help. A module is imported on use."""
