"""The API of `import azcore` for Python programs; docs/library.md states what stays stable.

    game = azcore.make("name", board_size=9)
    player = azcore.load("pretrained/NAME")            # or a run, or a checkpoint
    found = azcore.search(game, game.initial_state(), player)
    run = azcore.train("name", minutes=5)
    azcore.arena([run, "random", "search:64"])

The top layer, next to the command line: it composes the same settings, calls the same parts, and
returns objects that display themselves in a terminal and in a notebook. `player` loads, `analysis`
and `node` search, `runs` trains and reads runs, `matches` compares, `lessons` is for a custom
training loop; `columns`, `html` and `progress` display, and `settings` composes.
"""

import os

# As the command line does, before torch is imported: see azcore/cli/application.py.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
