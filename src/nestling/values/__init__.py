"""What data is: bags with integer multiplicities, labels, updates, payloads. No terms, no engines."""
