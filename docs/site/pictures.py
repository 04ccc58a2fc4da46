"""Draws the pictures of docs/concepts.md and docs/games.md: `python docs/site/pictures.py`.

Those of boards alone are what `command=export what=picture` writes; a test compares them.
"""

from __future__ import annotations

from pathlib import Path

import azcore

FOLDER = Path(__file__).parents[1] / "pictures"
BOARDS = {  # file: game, and the actions that lead to its position
    "board_go": ("go", "E5 G7 C3 C7 G4 E8 F6 D3 D4 C4 E3 D2"),
    "board_chess": ("chess", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6 e1g1 f7f6"),
    "board_shogi": ("shogi", "7g7f 3c3d 2g2f 4c4d 2f2e 2b3c 5i6h 3a3b"),
    "board_tic_tac_toe": ("tic_tac_toe", "b2 c3 c1 a3"),
}
SEARCHED = "E5 C3 G7 C7 G3 D5 E4"  # on 9×9, by the network that comes with azcore


def after(game: azcore.Game, actions: str) -> object:
    """The state after actions in the game's notation."""
    state = game.initial_state()
    for text in actions.split():
        state = game.step(state, game.text_to_action(state, text))
    return state


def board(name: str) -> str:
    """The SVG of one of `BOARDS`."""
    game_name, actions = BOARDS[name]
    game = azcore.make(game_name)
    return azcore.draw(game, after(game, actions), theme="light").svg


def main() -> None:
    for name in BOARDS:
        (FOLDER / f"{name}.svg").write_text(board(name), encoding="utf-8")
    player = azcore.load("pretrained/go9")
    found = azcore.search(player.game, after(player.game, SEARCHED), player, simulations=400)
    for layer in ("prior", "visits", "line"):
        picture = found.picture(layer, theme="light").svg
        (FOLDER / f"search_{layer}.svg").write_text(picture, encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
