"""The paper: Algorithms 1 to 3 as pure functions on arrays.

Algorithm 1 is :mod:`~spectrawalk.srdl.neighbors`, :mod:`~spectrawalk.srdl.graph`,
:mod:`~spectrawalk.srdl.bridges` and :mod:`~spectrawalk.srdl.eigenpairs`; Algorithm 2 is
:mod:`~spectrawalk.srdl.density` and :mod:`~spectrawalk.srdl.modes`; Algorithm 3 is
:mod:`~spectrawalk.srdl.labels`. :mod:`~spectrawalk.srdl.pipeline` calls them in order.
"""
