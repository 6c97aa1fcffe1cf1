"""Clustering without tuning: an ensemble of runs, their consensus, and the confidence in it."""
