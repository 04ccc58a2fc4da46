"""`command=bench`: measures the speed of rules, search, self-play and learner on this machine.

Start with `bench`. A module measures each row of `bench.rows`; `results` prints the table and
writes `bench.json`; `beside` runs other programs on the same work, with the scripts in `peers`.
"""
