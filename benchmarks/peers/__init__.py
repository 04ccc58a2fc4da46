"""A script for each program that `benchmarks/compare.py` measures: `python -m peers.NAME`.

The scripts run in another process, often with another Python, and import nothing from azcore. A
script reads its work as one JSON object (`Peer.work` in `compare.py`) from standard input, and
writes JSON objects, one per line:

    {"doing": "search, batch 64"}                            progress for the user
    {"what": ..., "value": ..., "unit": ..., "note": ...}    a row, with azcore's name for it

It ignores unknown rows. `exchange.py` has the code that the scripts share.
"""
