"""Every transcript format of every game by one contract, and by programs that read it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import AzcoreError, IllegalActionError, InvalidTextError
from azcore.game import Game, Transcript, TranscriptFormat
from azcore.storage.transcripts import formats_of

FORMATS = ["go sgf", "chess pgn", "shogi kif", "shogi csa", "tic_tac_toe json"]
ALPHABET = "aZ0 9{}()[]<>\\\\;:,.*'\"%+-/!?#$&|=_^~`\n\né囲碁棋😀\u2028\ufeff\u3000\x85\t\r\x00"
PHRASES = (
    "*",
    "%TORYO",
    "   1 投了",
    "変化\uff1a3手",
    "N+",
    "+7776FU",
    "(;B[aa])",
    "1-0",
    "%",
    "{",
    "}",
)
GNUGO = shutil.which("gnugo", path="/usr/games:/usr/bin:/bin")


WITH_MOVES = '{"game": {"name": "tic_tac_toe", "version": 1, "settings": {}}, "moves": MOVES}'


@cache
def game_of(name: str) -> Game:
    settings: dict[str, dict[str, Any]] = {
        "go": {"board_size": 5, "komi": 0.5},
        "tic_tac_toe": {},
    }
    return azcore.make(name, **settings.get(name, {"max_plies": 99}))


def format_of(which: str) -> tuple[Game, TranscriptFormat]:
    name, form = which.split()
    game = game_of(name)
    return game, formats_of(game)[form]


def played(game: Game, seed: int, plies: int = 10_000, start: str | None = None) -> list[int]:
    rng = np.random.default_rng(seed)
    state = game.initial_state() if start is None else game.state_from_text(start)
    actions: list[int] = []
    while len(actions) < plies and not game.is_terminal(state):
        actions.append(int(rng.choice(np.flatnonzero(game.legal_action_mask(state)))))
        state = game.step(state, actions[-1])
    return actions


def after(game: Game, actions: Any) -> Any:
    state = game.initial_state()
    for action in actions:
        state = game.step(state, action)
    return state


def random_text(rng: random.Random) -> str:
    words = [rng.choice(PHRASES) if rng.random() < 0.1 else rng.choice(ALPHABET) for _ in range(30)]
    return "".join(words[: rng.randrange(31)])


def random_transcript(game: Game, form: TranscriptFormat, seed: int) -> Transcript:
    rng = random.Random(seed)
    actions = played(game, seed, rng.choice((0, 1, 7, 20, 20, 10_000)))
    over = game.is_terminal(after(game, actions))
    loser = game.current_player(after(game, actions))
    return Transcript(
        actions=actions,
        comments=[random_text(rng) if rng.random() < 0.3 else "" for _ in actions],
        players=(random_text(rng), random_text(rng)),
        result=None if over or rng.random() < 0.5 else form.resignation(loser),
        headers={"event": random_text(rng), "date": rng.choice(("2026-11-20", "1777", "."))},
    )


@pytest.mark.parametrize("which", FORMATS)
def test_games_are_read_as_they_were_written(which: str) -> None:
    game, form = format_of(which)
    told = 0
    for seed in range(12):
        transcript = random_transcript(game, form, seed)
        again = form.read(form.write(transcript))
        if not game.is_terminal(after(game, transcript.actions)):
            assert again == transcript
            told += transcript.result is not None
        else:
            assert again.result is not None
            assert replace(again, result=None) == transcript
            assert form.read(form.write(again)) == again
    assert told  # some were given up


@pytest.mark.parametrize("which", FORMATS)
def test_line_ends_of_other_systems_make_no_difference(which: str) -> None:
    game, form = format_of(which)
    transcript = Transcript(actions=played(game, 1, 8), comments=["one\ntwo"], players=("A", "B"))
    text = form.write(transcript)
    assert form.read("\ufeff" * (which != "go sgf") + text.replace("\n", "\r\n")) == transcript


def test_a_transcript_holds_what_files_can() -> None:
    transcript = Transcript(
        actions=np.array([3, 4], np.uint16),  # type: ignore[arg-type]
        comments=["a\r\nb\rc\x00\td"],
        players=(" A\nB ", ""),
        headers={"event": "", "date": "2026"},
    )
    assert transcript.comments == ["a\nb\nc  d", ""]
    assert transcript.players == ("A B", "")
    assert transcript.headers == {"date": "2026"}
    assert [type(action) for action in transcript.actions] == [int, int]
    with pytest.raises(InvalidTextError, match="one of event, site, date, got 'round'"):
        Transcript(actions=[], headers={"round": "1"})
    with pytest.raises(InvalidTextError, match="one comment per action, 1, got 2"):
        Transcript(actions=[1], comments=["", ""])


@pytest.mark.parametrize("which", FORMATS)
def test_damaged_texts_are_refused_and_nothing_else_happens(which: str) -> None:
    game, form = format_of(which)
    transcript = replace(random_transcript(game, form, 3), actions=played(game, 3, 30), comments=())
    said = ["said {x}"] * len(transcript.actions)
    transcript = replace(transcript, comments=said, result=None)
    data = form.write(transcript).encode()
    rng = random.Random(0)
    refused, told = 0, []
    for _ in range(150):
        damaged = bytearray(data)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(data)) :]
        for _ in range(rng.choice((0, 1, 3, 30))):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            again = form.read(damaged.decode(errors="replace"))
        except InvalidTextError as error:
            refused += 1
            told.append(str(error))
        else:
            if again.start_text is None:
                after(game, again.actions)
    assert all(sentence.startswith(f"{game.name}: ") for sentence in told)
    assert refused > 15


@pytest.mark.parametrize("which", FORMATS)
def test_what_is_not_legal_or_has_no_words_cannot_be_written(which: str) -> None:
    game, form = format_of(which)
    with pytest.raises(IllegalActionError):
        form.write(Transcript(actions=[*played(game, 1, 4), game.num_actions]))
    with pytest.raises(InvalidTextError):
        form.write(Transcript(actions=[], start_text="nothing that is a position"))
    if which != "go sgf":  # RE takes any text
        with pytest.raises(InvalidTextError, match="result"):
            form.write(Transcript(actions=[], result="somebody won"))
        over = played(game, 2)
        wrong = form.resignation(1 - max(0, game.outcome(after(game, over))))
        with pytest.raises(InvalidTextError, match="so its result must be"):
            form.write(Transcript(actions=over, result=wrong))


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("go sgf", ("W+R", "B+R")),
        ("chess pgn", ("0-1", "1-0")),
        ("shogi kif", ("投了", "投了")),
        ("shogi csa", ("%TORYO", "%TORYO")),
    ],
)
def test_the_words_when_a_seat_gives_up(which: str, words: tuple[str, str]) -> None:
    _, form = format_of(which)
    assert (form.resignation(0), form.resignation(1)) == words


@pytest.mark.parametrize(
    ("which", "start"),
    [
        ("go sgf", ".X.../...X./...../.X.X./..... w"),  # a handicap
        ("go sgf", ".XO../XO.O./...../...../..... b"),
        ("go sgf", "...../...../...../...../..... w"),
        ("chess pgn", "4k3/P7/8/8/8/8/8/4K2R b K - 3 40"),
        ("chess pgn", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"),
    ],
)
def test_games_from_a_position_that_was_set_up(which: str, start: str) -> None:
    game, form = format_of(which)
    for plies in (0, 1, 12) if start[-1] != "w" or which != "go sgf" else (1, 12):
        transcript = Transcript(
            actions=played(game, plies, plies, start), comments=["set up"] * plies, start_text=start
        )
        assert form.read(form.write(transcript)) == transcript


def test_set_up_stones_of_others() -> None:
    _, form = format_of("go sgf")
    handicap = form.read("(;GM[1]SZ[5]HA[2]AB[bb][dd];W[cc]C[x];B[aa]C[one];C[two])")
    assert handicap.start_text == "...../.X.../...../...X./..... w"
    assert handicap.comments == ["x", "one\ntwo"]
    assert form.read("(;SZ[5]AB[bb][dd])").start_text == handicap.start_text
    problem = form.read("(;SZ[5]AB[bb]AW[dd]PL[B])")
    assert problem.start_text == "...../.X.../...../...O./..... b"
    with pytest.raises(InvalidTextError, match="after its start"):
        form.read("(;SZ[5];B[aa];AB[bb])")
    start = ".XO../XO.O./.XO../...../..... b ko=C4"
    with pytest.raises(InvalidTextError, match="can start only from stones"):
        form.write(Transcript(actions=[], start_text=start))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[SetUp "1"]\n*', "must have a FEN header"),
        ('[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n*', "no white king"),
        ('[FEN ""]\n*', "got 0 words"),
        ('[FEN "4k3/8/8/8/8/8/8/R3K3 b - - 0 9"]\n9... Ke8', "move 9... of the PGN game: Ke8"),
    ],
)
def test_starts_that_are_none(text: str, told: str) -> None:
    _, form = format_of("chess pgn")
    with pytest.raises(InvalidTextError, match=told):
        form.read(text)


# -- files of several games ----------------------------------------------------------------------


def divided(which: str, text: str, piece: int = 1 << 16) -> list[str]:
    """The texts of a file's games; lines longer than `piece` come in pieces."""
    lines = [
        line[at : at + piece]
        for line in text.splitlines(keepends=True)
        for at in range(0, len(line), piece)
    ]
    return list(format_of(which)[1].games(lines))


@pytest.mark.parametrize("which", FORMATS)
def test_the_games_of_a_file_are_those_that_were_written(which: str) -> None:
    game, form = format_of(which)
    written = [random_transcript(game, form, seed) for seed in range(8)]
    between = {"go sgf": "\n", "chess pgn": "\n", "shogi csa": "/\n/\n"}.get(which)
    if between is None:
        assert divided(which, form.write(written[0])) == [form.write(written[0])]
        return
    text = between.join(form.write(transcript) for transcript in written)
    for piece in (1 << 16, 7):
        games = divided(which, text, piece) if piece > 7 or which == "go sgf" else None
        if games is not None:
            again = [form.read(one) for one in games]
            assert [one.actions for one in again] == [one.actions for one in written]
            assert [one.comments for one in again] == [one.comments for one in written]


@pytest.mark.parametrize(
    ("which", "text", "games"),
    [
        ("go sgf", "", []),
        ("go sgf", "junk", []),
        ("go sgf", "a (;B[aa]) b (;B[bb](;W[cc])(;W[dd]))\n)(;C[\\](;])", 3),
        ("go sgf", "(;C[not closed\n(;GM[1];B[aa])", 2),
        ("go sgf", "(;GM[1];B[aa]\n  (;W[bb])\n  (;W[cc]))", 1),
        ("shogi csa", "V2\nPI\n+\n%TORYO\nV2\nPI\n+\n%TORYO\n/\nPI\n+\n", 3),
        ("chess pgn", "", []),
        ("chess pgn", "\n\n", []),
        ("chess pgn", '1. e4 *\n1. d4 1-0 ; said\n\n[Event "x"]\n[Site "?"]\n\n1. c4 0-1', 3),
        ("chess pgn", '[Event "x"]\n\n{ 1-0\n[Event "y"]\n} 1. e4 1-0\n', 1),
        ("chess pgn", '[Event "x"]\n\n1. e4 {\n\n[White "y"]\n\n1. e4 1-0\n', 2),
        ("chess pgn", '[Event "x"]\n\n[Event "y"]\n\n1. e4 1-0\n', 2),
        ("chess pgn", '[White "x"]\n\n1. e4\n\n[White "y"]\n\n1. e4 ; 1-0\n e5 1-0', 2),
        ("chess pgn", '[Result "1-0"] e4 1-0\n[White "x"] [Result "*"] d4 *\n', 2),
        ("chess pgn", '[White "{"]\n1. e4 (1. d4\n 1-0) e5\n1-0', 1),
    ],
)
def test_where_a_game_begins(which: str, text: str, games: int | list[str]) -> None:
    found = divided(which, text)
    assert (len(found) if isinstance(games, int) else found) == games


def test_what_results_and_ranks_tell() -> None:
    _, form = format_of("go sgf")
    for result, outcome in (("B+R", 1), ("W+3.5", -1), ("b+", 1), ("0", 0), ("Draw", 0)):
        assert form.read(f"(;SZ[5]RE[{result}];B[aa])").outcome == outcome
    for result in ("", "?", "Void", "Black", "00"):
        assert form.read(f"(;SZ[5]RE[{result}];B[aa])").outcome is None
    read = form.read("(;SZ[5]BR[7 dan]WR[12k?])")
    assert read.ratings == (7.0, -11.0)
    assert form.read("(;SZ[5]BR[9p]WR[amateur])").ratings == (9.0, None)
    _, form = format_of("chess pgn")
    text = '[WhiteElo "2710"]\n[BlackElo "0"]\n[Variant "Standard"]\n\n1. e4 1/2-1/2'
    read = form.read(text)
    assert (read.outcome, read.ratings, read.other_rules) == (0, (2710.0, None), "")
    assert form.read("1. e4 *").outcome is None


@pytest.mark.parametrize(
    ("form", "end", "outcome"),
    [
        *(("kif", "投了", 1), ("kif", "反則勝ち", -1), ("kif", "持将棋", 0), ("kif", "中断", None)),
        *(("csa", "%TORYO", 1), ("csa", "%KACHI", -1), ("csa", "%HIKIWAKE", 0)),
        *(("csa", "%+ILLEGAL_ACTION", -1), ("csa", "%CHUDAN", None), ("csa", "%ERROR", None)),
    ],
)
def test_what_ends_of_shogi_tell(form: str, end: str, outcome: int | None) -> None:
    """After one move, so the second seat is to move."""
    game, writer = format_of(f"shogi {form}")
    text = writer.write(Transcript(actions=played(game, 1, 1)))
    text = text.replace("%CHUDAN", end).replace("   2 中断", f"   2 {end}")
    assert writer.read(text).outcome == outcome


# -- other programs ----------------------------------------------------------------------------


def test_python_chess_reads_our_pgn() -> None:
    import io

    import chess.pgn

    game, form = format_of("chess pgn")
    for seed in range(4):
        start = None if seed % 2 else "4k3/P7/8/8/8/8/8/4K2R b K - 3 40"
        actions = played(game, seed, 60 if seed < 2 else 10_000, start)
        said = ["", "value +0.312\nwhat a [%move]; really", "% no escape"]
        transcript = Transcript(
            actions=actions,
            comments=[said[ply % 3] for ply in range(len(actions))],
            players=("A. Great Player", "B"),
            headers={"event": "Cup", "date": "2026-11-20"},
            start_text=start,
        )
        text = form.write(transcript)
        assert all(len(line) <= 80 for line in text.splitlines() if "{" not in line)
        read = chess.pgn.read_game(io.StringIO(text))
        assert read is not None
        assert not read.errors
        state = game.initial_state() if start is None else game.state_from_text(start)
        node: Any = read
        for ply, action in enumerate(actions):
            node = node.next()
            assert node.move.uci() == game.action_to_text(state, action)
            sign = "-" if game.current_player(state) else ""
            pawns = f"[%eval {sign}1.75] " if "value" in said[ply % 3] else ""
            assert node.comment == pawns + said[ply % 3]
            state = game.step(state, action)
        assert node.next() is None
        over = game.is_terminal(state)
        result = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[game.outcome(state)] if over else "*"
        assert read.headers["Result"] == result
        assert (read.headers["White"], read.headers["Date"]) == ("A. Great Player", "2026.11.20")
        assert node.board().fen().split()[0] == game.state_to_text(state).split()[0]


def test_our_pgn_reader_agrees_with_python_chess_about_its_files() -> None:
    import chess.pgn

    game, form = format_of("chess pgn")
    document = chess.pgn.Game({"Event": 'E "1"', "White": "W\\", "Black": "?"})
    node: Any = document
    state = game.initial_state()
    actions = played(game, 5, 30)
    for ply, action in enumerate(actions):
        node = node.add_variation(chess.Move.from_uci(game.action_to_text(state, action)))
        node.comment = f"comment {ply}"
        if ply == 3:
            other = next(m for m in node.parent.board().legal_moves if m != node.move)
            node.parent.add_variation(other).comment = "not this"
        state = game.step(state, action)
    document.headers["Result"] = "0-1"
    read = form.read(str(document))
    assert read.actions == actions
    assert [said.replace("\n", " ") for said in read.comments] == [
        f"comment {ply}" for ply in range(30)
    ]
    assert (read.players, read.result, read.headers) == (("W\\", ""), "0-1", {"event": 'E "1"'})


def test_sgfmill_reads_our_sgf() -> None:
    from sgfmill import sgf, sgf_moves

    game: Any = azcore.make("go", board_size=9, komi=6.5)
    form = formats_of(game)["sgf"]
    actions = played(game, 1)
    said = "a] [b] \\ :;\n\n囲碁"
    transcript = Transcript(
        actions=actions,
        comments=[said],
        players=("A]", "B"),
        headers={"event": "E", "site": "S", "date": "2026-11-20"},
    )
    document = sgf.Sgf_game.from_bytes(form.write(transcript).encode())
    assert (document.get_size(), document.get_komi()) == (9, 6.5)
    root = document.get_root()
    found = [root.get(key) for key in ("PB", "PW", "EV", "PC", "DT")]
    assert found == ["A]", "B", "E", "S", "2026-11-20"]
    board, plays = sgf_moves.get_setup_and_moves(document)
    assert document.get_main_sequence()[1].get("C") == said
    for colour, move in plays:
        if move is not None:
            board.play(*move, colour)
    state = after(game, actions)
    stones = [[".XO"[cell] for cell in row] for row in game.stones(state)]
    theirs = [
        [{None: ".", "b": "X", "w": "O"}[board.get(8 - row, column)] for column in range(9)]
        for row in range(9)
    ]
    assert theirs == stones
    assert document.get_winner() == {1: "b", -1: "w"}[game.outcome(state)]


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed")
def test_gnugo_loads_our_sgf(tmp_path: Path) -> None:
    game: Any = azcore.make("go", board_size=9)
    form = formats_of(game)["sgf"]
    start = game.state_to_text(game.state_from_text("\n".join(["." * 9] * 9) + " b"))
    handicap = start.replace(".........", "..X...X..", 1).replace(" b", " w")
    for seed, begin in ((1, None), (2, handicap)):
        actions = played(game, seed, 40, begin)
        (tmp_path / "game.sgf").write_text(
            form.write(Transcript(actions=actions, comments=["囲]"], start_text=begin))
        )
        commands = f"loadsgf {tmp_path / 'game.sgf'}\nlist_stones black\nlist_stones white\nquit\n"
        assert GNUGO is not None
        answer = subprocess.run(
            [GNUGO, "--mode", "gtp"], input=commands, capture_output=True, text=True, timeout=60
        ).stdout.split("\n\n")
        state = game.initial_state() if begin is None else game.state_from_text(begin)
        for action in actions:
            state = game.step(state, action)
        for colour, said in ((1, answer[1]), (2, answer[2])):
            points = np.flatnonzero(game.stones(state).ravel() == colour)
            ours = {game.action_to_text(state, int(point)) for point in points}
            assert set(said.removeprefix("=").split()) == ours
        mover = "white" if game.current_player(state) else "black"
        assert answer[0].removeprefix("=").strip() == mover


def test_cshogi_reads_our_records() -> None:
    pytest.importorskip("cshogi")
    import cshogi.CSA
    import cshogi.KIF

    game = game_of("shogi")
    formats = formats_of(game)
    for seed in range(3):
        actions = played(game, seed, 50)
        usi, state = [], game.initial_state()
        for action in actions:
            usi.append(game.action_to_text(state, action))
            state = game.step(state, action)
        comments = ["first\nsecond", "", "第三"] + [""] * 47
        headers = {"event": "杯", "date": "2026-11-20"}
        players = ("先 A", "後")
        kif = cshogi.KIF.Parser.parse_str(
            formats["kif"].write(
                Transcript(
                    actions=actions,
                    comments=comments,
                    players=players,
                    headers=headers,
                    result="投了",
                )
            )
        )
        assert [cshogi.move_to_usi(move) for move in kif.moves] == usi
        assert (kif.names, kif.endgame) == (list(players), "%TORYO")
        assert kif.comments == ["first\nsecond", None, "第三"]
        assert kif.var_info["棋戦"] == "杯"
        loser = game.current_player(state)
        assert kif.win == (cshogi.WHITE_WIN, cshogi.BLACK_WIN)[loser]
        csa = cshogi.CSA.Parser.parse_str(
            formats["csa"].write(
                Transcript(
                    actions=actions,
                    comments=comments,
                    players=players,
                    headers=headers,
                    result="%TORYO",
                )
            )
        )[0]
        assert [cshogi.move_to_usi(move) for move in csa.moves] == usi
        assert (csa.names, csa.endgame) == (list(players), "%TORYO")
        assert csa.win == (cshogi.WHITE_WIN, cshogi.BLACK_WIN)[loser]
        assert csa.var_info["EVENT"] == "杯"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "a game has the parts"),
        ('{"moves": []}', "a game has the parts"),
        ('{"game": 7, "moves": []}', "a game must be of {'name': 'tic_tac_toe'"),
        (WITH_MOVES.replace("MOVES", "7"), "moves must be text, got '7'"),
        (WITH_MOVES.replace("MOVES", '["b2", "b2"]'), "move 2: .*b2.* is not legal"),
        (
            WITH_MOVES.replace("MOVES", '[], "comments": ["one"]'),
            "one comment per action, 0, got 1",
        ),
        (WITH_MOVES.replace("MOVES", '[], "headers": {"round": "1"}'), "one of event, site, date"),
        (WITH_MOVES.replace("MOVES", '[], "result": "X wins"'), "is not over, so its result must"),
        ("[" * 100_000, "a game is a line of JSON"),
    ],
)
def test_moves_that_are_no_game(text: str, told: str) -> None:
    """Each in one sentence that begins with the game."""
    _, form = format_of("tic_tac_toe json")
    with pytest.raises(InvalidTextError, match=f"^tic_tac_toe: .*{told}"):
        form.read(text)


def test_moves_are_read_by_either_form_of_a_game() -> None:
    game, form = format_of("tic_tac_toe json")
    other = formats_of(azcore.make("tic_tac_toe_plain"))["json"]
    transcript = Transcript(actions=played(game, 4), comments=["one"], players=("A", "B"))
    read = other.read(form.write(transcript))
    assert (read.actions, read.comments[0], read.players) == (transcript.actions, "one", ("A", "B"))
    assert read.outcome == game.outcome(after(game, transcript.actions))
    assert other.read(form.write(Transcript(actions=[4], result="O resigned"))).outcome == 1
    assert issubclass(InvalidTextError, AzcoreError)


def test_spoilt_texts_are_read_or_refused_in_time() -> None:
    """By a program of its own, which a clock can end; `fuzz_transcripts.py` runs for longer."""
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fuzz_transcripts.py")), "120", "1"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    for kind in ("sgf", "pgn"):
        for what in ("read", "refused"):
            assert f"{kind} {what}" in ran.stdout, ran.stdout


def test_a_long_number_is_told_of_in_short() -> None:
    _, form = format_of("go sgf")
    with pytest.raises(InvalidTextError, match=r"must be Go, GM\[1\], got GM\[2{20}\]$"):
        form.read(f"(;SZ[5]GM[{'2' * 1000}])")
