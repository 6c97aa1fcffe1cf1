"""How the site is built: ``python -m sphinx -W --keep-going -d build/doctrees docs build/site``."""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
sys.path.insert(0, str(DOCS / "extensions"))
shutil.rmtree(DOCS / "api", ignore_errors=True)  # generated; may hold names that have gone

import spectrawalk

project = "spectrawalk"
author = copyright = "The spectrawalk developers"
version = release = spectrawalk.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "commands",
    "formulas",
    "root_files",
]
# Every link inside the site is checked: those of Markdown by MyST, those of docstrings here. The
# types of parameters are prose ("ndarray of shape (K,)"), which nothing could resolve.
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*"), ("py:func", r"scipy\..*")]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False  # the page of a module lists its __all__
autosummary_imported_members = True
autodoc_typehints = "none"  # docstrings name the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them

smartquotes = False  # would turn --option into a dash and a word
templates_path = ["templates"]
html_theme = "furo"
html_title = f"spectrawalk {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_search_summary = False  # would fetch pages, which browsers refuse for files on the disk
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
# As in the figures: blue-green, legible on both backgrounds.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e8a", "color-brand-content": "#0b6e8a"},
    "dark_css_variables": {"color-brand-primary": "#62c4de", "color-brand-content": "#62c4de"},
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

if any(EXAMPLES.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "gallery",
        "image_scrapers": ("gallery_figures.new_figures",),
        "ignore_repr_types": "ShownFigure",  # the scraper shows it
        "abort_on_example_error": True,
        "default_thumb_file": str(DOCS / "pictures" / "map.png"),
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1_000_000,  # a time would differ from one build to the next
        "write_computation_times": False,
    }
