"""Slow, obviously right twins of what the library computes fast; nothing here imports it."""
