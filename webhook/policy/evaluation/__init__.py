"""What policies say to a request: parameters, variables, conditions, validations, mutations."""
