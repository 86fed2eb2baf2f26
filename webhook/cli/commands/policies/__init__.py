"""Commands about policies: written, checked, tested, tried. A file a command."""
