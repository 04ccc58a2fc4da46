"""The version of azcore, which files store, engines report and clusters compare."""

__version__ = "0.2.0"
