"""What stands around every request, a file each."""
