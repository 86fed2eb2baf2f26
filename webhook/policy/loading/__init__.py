"""Policy files to a bundle: documents checked, compiled, and joined with their bindings."""
