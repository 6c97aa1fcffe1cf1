"""The paper's table and figures, and the same table for other scenes and methods.

==============  ==================================================================
published       figures that the paper printed
settings        settings of each method on the paper's scenes
child           one method on one image, in a separate process
runs            all runs of a table, each done once and kept
plugins         Python files of a user that register methods
table           summary of the runs as Markdown and comma-separated values
heatmap         the table as a heat map
sweeps          accuracy for different radii, numbers of eigenpairs and times
sweep_figures   figures of the sweeps
readings        accuracy for every interpretation of the paper
figures         the paper's figures
products        the output files of the commands
==============  ==================================================================
"""
