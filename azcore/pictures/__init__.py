"""Pictures of boards: one renderer for pages, reports and notebooks, as SVG and without libraries.

    picture = draw(game, state)                 # in a notebook, the picture itself
    draw(game, state, flip=True, letters=True)  # from the second seat; letters in place of drawings
    film(game, states)                          # one picture that steps through a game
    save(draw(game, state, theme="light"), Path("board.png"))

Begin with `picture.py`; `films.py` draws whole games and `files.py` writes SVG and PNG files.
`geometry.py` says where places lie, `surface.py` draws the empty board, `pieces.py` the pieces
(with `staunton.py` and `kanji.py`), `layers.py` what a search has to say about a position,
`words.py` says a position in words, `planes.py` draws what the network sees of it, and `palette.py`
holds the colours. `svg.py` writes elements and escapes texts: games are by strangers.
"""

from azcore.pictures.films import film, shared
from azcore.pictures.layers import Hint, Layers, heat_of, line_of, owners_of
from azcore.pictures.picture import Picture, draw, draw_board, loose_pieces, overlay, title_of
from azcore.pictures.planes import draw_plane

__all__ = [
    "Hint",
    "Layers",
    "Picture",
    "draw",
    "draw_board",
    "draw_plane",
    "film",
    "heat_of",
    "line_of",
    "loose_pieces",
    "overlay",
    "owners_of",
    "shared",
    "title_of",
]
