"""What an editor is told while a person writes: findings, types, completions, definitions.

Pure functions over texts; `server.py` alone speaks the Language Server Protocol.
"""
