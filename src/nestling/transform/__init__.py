"""Pure functions from terms to terms, or to numbers: each a file, each with its law."""
