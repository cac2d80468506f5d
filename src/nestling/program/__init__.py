"""The second language: flat queries, the maps they define, and the trigger programs that maintain them."""
