"""The explorer: a local web page on a run, its server, and the steps that a person takes in it."""
