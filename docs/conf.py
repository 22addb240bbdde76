"""The documentation site: `make docs` builds it into build/site, offline."""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "wald"
author = "wald developers"
release = version = importlib.metadata.version("wald")
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "citing",
    "measured",
    "outputs",
    "pictures",
    "outside",
]
exclude_patterns = ["reference.md", "gallery", "api/backreferences", "**/README.md"]
templates_path = ["_templates"]
nitpicky = True
#: Names of other projects are not looked up: the build needs no network.
nitpick_ignore_regex = [(r"py:.*", r"(?!wald\.[a-z_.]*[A-Z]\w+$).*")]

# Docstrings: in single backticks, names that can be imported become links.
default_role = "autolink"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_generate_overwrite = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
suppress_warnings = ["config.cache", "misc.highlighting_failure"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["examples"],
    "subsection_order": ["gallery/quickstart", "gallery/advanced", "gallery/papers"],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("wald",),
    "reset_modules": ("matplotlib", "pictures.style"),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "image_srcset": ["2x"],
    "remove_config_comments": True,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = f"wald {release}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False  # docs/_templates/page-source.html links to it
html_sourcelink_suffix = ""
html_theme_options = {
    "logo": {"text": f"wald {release}", "alt_text": "wald: home"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "article_footer_items": ["page-source"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
_ALONE = (
    "index",
    "install",
    "quickstart",
    "faq",
    "tested",
    "questions",
    "glossary",
    "citing",
)
html_sidebars = {page: [] for page in _ALONE}
