"""Compiled loops: arrays in, arrays out, no policy.

Each kernel has a slow, readable twin in :mod:`spectrawalk.kernels.reference` or in SciPy, and a
property test holds the two together. Products in single precision only decide what need not be
looked at; a distance that is given back is summed in double precision by one function, so that a
pair of spectra has the same distance, to the last bit, whatever its place in the image and the
number of threads.
"""

import os

# Threads that have nothing to do shall sleep: turning in circles, they take the processor from
# others, and from each other where there are fewer cores than threads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
