"""From a trigger program to running views; the engines do not know each other."""
