"""`command=bench`: how fast rules, search, self-play and learner are on this machine.

Begin at `bench`. Each row of `bench.rows` has a module that measures it; `results` is the table and
`bench.json`; `beside` runs other programs on the same work, by the scripts in `peers`.
"""
