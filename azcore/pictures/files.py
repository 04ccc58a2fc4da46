"""Writes pictures as files: SVG by azcore itself, PNG by resvg, which is optional."""

from pathlib import Path

from azcore.errors import SettingError, os_errors_as
from azcore.pictures.picture import Picture

SUFFIXES = (".svg", ".png")


def require_suffix(path: Path) -> None:
    """Refuse a file name that ends in neither .svg nor .png.

    Raises:
        SettingError: the message names the suffixes.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise SettingError(f"a picture's name must end in {' or '.join(SUFFIXES)}, got {path}")


def save(picture: Picture, path: Path, width: int = 800) -> None:
    """Write a picture in the format of its suffix, replacing any file of this name.

    Args:
        picture: a picture with theme `light` or `dark`, since few programs other than browsers
            support `auto`.
        path: ends in .svg or .png.
        width: the width of a PNG in pixels.

    Raises:
        SettingError: the suffix is wrong, resvg is not installed, or writing fails.
    """
    require_suffix(path)
    is_png = path.suffix.lower() == ".png"
    content = png(picture, width) if is_png else picture.svg.encode()
    with os_errors_as(SettingError, f"{path} cannot be written"):
        path.write_bytes(content)


def png(picture: Picture, width: int) -> bytes:
    """A picture as PNG.

    Raises:
        SettingError: resvg is not installed.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise SettingError(
            'PNG needs the package resvg-py: pip install "azcore[png]"; SVG needs nothing'
        ) from error
    return resvg_py.svg_to_bytes(svg_string=picture.svg, width=width)
