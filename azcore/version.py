"""The version of azcore: what files carry, engines answer and clusters compare."""

__version__ = "0.2.0"
