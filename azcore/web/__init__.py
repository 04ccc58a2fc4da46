"""The web page for play and analysis, served by starlette to one person or a class.

Begin with `room.py`: one visitor's game and the requests that change it. `players.py` lists and
loads players, `shared.py` lets visitors share the batches of one network, and `view.py` turns
positions and search results into plain values. `app.py` is the server: access control, and the web
socket that carries requests and answers; `connections.py` limits connections. `static/` holds the
page itself, plain modules; start with `main.js`.

A room lives as long as its web socket. The page knows its game (who plays, the start, the moves),
so after a broken connection it restores the room, and a closed page leaves nothing in memory.
"""
