"""The commands, a file for each. A command's module is imported when it is asked for."""
