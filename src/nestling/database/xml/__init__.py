"""Documents in a database, and the XQuery views over them."""
