"""Pictures of boards: one renderer for pages, reports and notebooks, as SVG and without libraries.

    picture = draw(game, state)                 # in a notebook, the picture itself
    draw(game, state, flip=True, letters=True)  # from the second seat; letters in place of drawings
    film(game, states)                          # one picture that steps through a game
    save(draw(game, state, theme="light"), Path("board.png"))

Start with `picture.py`; `films.py` draws whole games and `files.py` writes SVG and PNG files.
`geometry.py` computes where places lie, `surface.py` draws the empty board, `pieces.py` the pieces
(with `staunton.py` and `kanji.py`), `layers.py` a search's results, `words.py` describes a position
in text, `planes.py` draws the network's input, and `palette.py` holds the colours. `svg.py` writes
elements and escapes texts: games may come from strangers.
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
