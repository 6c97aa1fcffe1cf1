"""What a run found: the map, the spectra of the clusters, confidence, scores and remarks."""
