"""What a person looks at: figures, the HTML page of a run, and the folder that holds them."""
