"""Compiled loops: arrays in, arrays out, no policy.

Each kernel has a slow, readable twin in :mod:`spectrawalk.kernels.reference` or in SciPy, and a
property test holds the two together. Products in single precision only decide what need not be
looked at; a distance that is given back is summed in double precision by one function, so that a
pair of spectra has the same distance, to the last bit, whatever its place in the image and the
number of threads.

A kernel works on one thread, on a range of its items, and releases Python's lock meanwhile:
:func:`spectrawalk.threads.run_blocks` calls it for one block after the other on several threads.
Kernels are written so that they compile quickly: plain loops in place of slices that are assigned
to, one type of array for each argument, and few functions that call each other, since the compiler
works through a function again in each one that calls it.
"""
