"""`what=page`: games to play in a browser, from files alone. Begin at `writing.py`.

`webassembly.py` compiles a game's rules for browsers, `look.py` learns how to read its board from
the planes, and `proof.py` compares with Python what the page makes of both. `static/` has the page:
`rules.mjs` calls the rules, `view.mjs` turns positions into what is drawn and clicked, `search.mjs`
searches, and `worker.mjs` does all that beside `page.mjs`, which takes the clicks.
"""
