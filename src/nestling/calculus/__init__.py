"""The language: nested relational calculus on bags, with count-wise operators, aggregates and labels."""
