"""SpectraWalk step by step: many base clusterings, one tree of clusters, and the confidence in it.

This is a cluster ensemble (Strehl and Ghosh, 2002) by evidence accumulation (Fred and Jain, 2005).

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple
partitions", Journal of Machine Learning Research 3, 2002.

A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27, 2005.
"""
