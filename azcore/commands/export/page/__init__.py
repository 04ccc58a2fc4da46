"""`what=page`: games to play in a browser, from files alone. Start with `writing.py`.

`webassembly.py` compiles a game's rules for browsers, `look.py` learns how to read its board from
the planes, and `verification.py` compares the page's reading of both with Python. `static/` has
the page:
`rules.mjs` calls the rules, `view.mjs` turns positions into drawings and clicks, `search.mjs`
searches, and `worker.mjs` runs all that in parallel to `page.mjs`, which takes the clicks.
"""
