"""The CustomResourceDefinitions of Sluice's kinds, and validation against them."""
