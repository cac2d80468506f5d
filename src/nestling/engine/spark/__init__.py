"""The engine on Spark: trigger programs for batches as SQL over log-structured tables."""
