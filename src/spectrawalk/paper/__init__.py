"""The paper's table and figures, remade, and the same table for anybody's scene and method.

==============  ==================================================================
published       what the paper printed
child           one method on one image, in a process of its own
runs            all runs of a table, each done once and kept
table           runs summed up: Markdown, comma-separated values
heatmap         the table as a picture
sweeps          accuracy over radius, eigenpairs and time, sharing what can be shared
readings        accuracy under every reading of the paper
figures         the paper's figures
==============  ==================================================================
"""
