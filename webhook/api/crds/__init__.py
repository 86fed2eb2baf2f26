"""The kinds that Sluice brings: their CustomResourceDefinitions and what these allow."""
