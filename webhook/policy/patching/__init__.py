"""From what a mutation gives to the changed object: ApplyConfiguration and JSONPatch."""
