"""Compiled loops: arrays in, arrays out, no policy.

Each kernel has a slow, readable twin of the same name in :mod:`spectrawalk.kernels.reference`, and
a property test holds the two together. Distances are summed in a fixed order without reassociation,
so a pair of spectra has the same distance, to the last bit, whatever its place in the image, the
number of threads or the width of the machine's registers.
"""
