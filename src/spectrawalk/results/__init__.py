"""What a run found: the map, the spectra of the clusters, certainty, scores and remarks."""
