"""Linear unmixing: number of endmembers, endmembers, abundances."""
