"""A page to play and analyse on, served by starlette to one person or a class.

Begin with `room.py`: one visitor's game, and what each of the page's orders does to it. `shelf.py`
lists and loads who can be played, `shared.py` lets visitors share the batches of one network,
`view.py` turns positions and thoughts into plain values, and `app.py` is the server: who may come
in, and the web socket that carries orders and answers; `connections.py` limits connections. The
page itself is in `static/`, plain modules that begin with `main.js`.

A room lives as long as its web socket. The page knows its game (who plays, the start, the moves),
so a connection that breaks is made anew from that, and nothing of a closed page stays in memory.
"""
