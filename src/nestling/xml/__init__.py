"""Ordered documents as data: order keys, entries, pages, and what walks and writes them."""
