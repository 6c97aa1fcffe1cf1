"""All methods on many scenes with ground truth, in one table.

=========  ======================================================================
methods    every method: how its parameters are set, and what a label had to do
           with it; settings to choose from with ground truth
scenes     published scenes, and a user's folder of cubes with ground truth
suite      the runs, and one row for each scene, method and way to set K
ranking    mean ranks, Friedman's test and Nemenyi's critical difference
diagram    mean ranks as a picture
findings   where the default method is best and where it is not, in sentences
tables     the rows as Markdown and comma-separated values
page       the page with maps side by side
products   the output files
=========  ======================================================================
"""
