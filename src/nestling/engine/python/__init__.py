"""Programs as Python source: what the embedded engine and the driver of Spark both write."""
