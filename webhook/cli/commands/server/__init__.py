"""Commands that install and run Sluice. A file a command."""
