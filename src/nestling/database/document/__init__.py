"""A view as a document: arrays and objects in one order, and the JSON Patches that lead from version to version."""
