"""The embedded engine: a trigger program as Python source, run in the user's process."""
