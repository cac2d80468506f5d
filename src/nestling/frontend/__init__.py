"""Front ends: Python, SQL, OQL and XQuery to the calculus. Siblings do not see each other."""
