"""The native engine: trigger programs as byte code, run in C over typed maps (``src/native``)."""
