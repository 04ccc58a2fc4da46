"""`what=page`: games to play in a browser, from files alone. Begin at `writing.py`.

`webassembly.py` compiles a game's rules for browsers, `proof.py` compares them with Python, and
`static/` has the page: `rules.mjs` calls the rules, `view.mjs` turns positions into what a page shows,
`search.mjs` searches, `worker.mjs` runs it all beside `page.mjs`, which takes the clicks.
"""
