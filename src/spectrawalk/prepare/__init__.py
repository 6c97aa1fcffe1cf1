"""Between a scene and the method: which bands and pixels are used, and how spectra are scaled."""
