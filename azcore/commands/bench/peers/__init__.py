"""One script for each program that `command=bench` runs beside azcore: `python -m peers.NAME`.

They run in another process, often of another Python, and import nothing of azcore. A script reads
its work as one JSON object from standard input (see `azcore.commands.bench.beside.work_for`) and
writes JSON objects, one a line:

    {"doing": "search, batch 64"}                            a word for who waits
    {"what": ..., "value": ..., "unit": ..., "note": ...}    a row, named as azcore names its own

It writes nothing for rows that it does not know. `exchange.py` has what the scripts share.
"""
