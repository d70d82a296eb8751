"""Peers that are not packages of their own, or need more than a call."""
