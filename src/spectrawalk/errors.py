"""Every exception of the package: what was found, where, and what to do about it.

All of them are :class:`SpectrawalkError`; those about a value are also :class:`ValueError`, so that
code written for scikit-learn or NumPy catches them without knowing this package.
"""


class SpectrawalkError(Exception):
    """Base of all errors that this package raises on purpose."""


class ParameterError(SpectrawalkError, ValueError):
    """A parameter has a value that cannot be used."""


class DataError(SpectrawalkError, ValueError):
    """The pixels cannot be clustered: wrong shape, not finite, too few, all the same."""


class DataTypeError(DataError, TypeError):
    """The data are not numbers at all."""


class GraphError(SpectrawalkError, ValueError):
    """The graph cannot be built from these pixels and parameters."""


class StructureError(SpectrawalkError, ValueError):
    """Fewer clusters can be told apart than were asked for."""


class ConvergenceError(SpectrawalkError, RuntimeError):
    """An iteration did not reach its accuracy."""


class MemoryShortageError(SpectrawalkError, MemoryError):
    """A fit would take more memory than there is."""


class FileError(SpectrawalkError, ValueError):
    """A file is missing, cut short, or not what its name says."""


class SceneNotFoundError(SpectrawalkError, LookupError):
    """A named scene is not on this machine; the message says where to get it."""


class SchedulerError(SpectrawalkError, RuntimeError):
    """The scheduler or the workers of Dask cannot do the work."""


class SceneWarning(UserWarning):
    """A scene was read, but perhaps not as it was meant."""


class MissingDependencyError(SpectrawalkError, ImportError):
    """An optional part was used whose library is not installed."""
