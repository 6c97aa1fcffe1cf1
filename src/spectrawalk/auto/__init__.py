"""Clustering without tuning: a family of runs, their consensus, and how far to trust it."""
