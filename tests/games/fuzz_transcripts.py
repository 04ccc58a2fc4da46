# ruff: noqa: RUF001, SIM905 (KIF has wide colons and digits; words are easier read so)
"""Throws spoilt games at the readers of transcripts: SGF, PGN, KIF and CSA.

    python tests/games/fuzz_transcripts.py 20000 1      # so many texts, from a seed

Each must be read, or refused by one sentence of azcore's; a text that is read must be played by the
rules, and what is written of it read again. None may take longer than `SECONDS`, by a clock that
ends the process with the place where it was.
"""

from __future__ import annotations

import faulthandler
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

import azcore
from azcore.errors import AzcoreError, InvalidTextError
from azcore.game import Game, Transcript, TranscriptFormat
from azcore.storage.transcripts import formats_of
from transcript_kit import read_transcript

SECONDS = 60  # for one text, on a busy machine; a hundred times what the longest takes
LONG = 300_000  # characters of what is repeated, now and then
GAMES: list[tuple[str, dict[str, Any], str]] = [
    ("go", {"board_size": 5, "komi": 0.5}, "sgf"),
    ("go", {"board_size": 19}, "sgf"),
    ("chess", {}, "pgn"),
    ("chess", {"max_plies": 60}, "pgn"),
    ("shogi", {}, "kif"),
    ("shogi", {"max_plies": 60}, "csa"),
]
ODD_NUMBERS = ["0", "-1", "1", "99", "256", "65536", "1" * 30, "1" * 5000, "nan", "inf", "1e999"]
ODD_NUMBERS += ["", "０", "٣", "0x10", "19:5", "1_0"]
ANY = [
    "\0",
    "\ufeff",
    "\u2028",
    "\x1b[2J",
    "\x85",
    "😀",
    "é",
    "\\",
    "\r",
    "\n",
    "\n\n",
    "\t",
    "\ud800",
]
TOKENS = {
    "sgf": "( ) ; [ ] :: AB[aa] AW[aa] AB[aa:ss] AE[bb] AB[zz] B[] B[tt] W[aa] B[aaa] "
    "PL[W] PL[X] PL[] SZ[1000000] SZ[-1] SZ[19:5] SZ[] SZ[nan] KM[nan] KM[] RE[NaN] RE[] "
    "GM[2] GM[] FF[99] HA[99] HA[-1] CA[UTF-16] CA[none] CA[utf-8] C[\\] C[] TB[aa] KO[] MN[-1] "
    "B W (;B[aa] ) (;) ;;;; (;SZ[5](;B[aa])(;B[bb])) LB[aa:1] AR[aa:bb] b[aa] Black[aa]".split(" "),
    "pgn": [
        *"( ) { } ; % * 1-0 1/2-1/2 0-1 $1 $999999999999 1. 1... ... e4 e5".split(),
        *"Nf3 O-O O-O-O 0-0 e8=Q Qxh7#".split(),
        *"-- Z0 null e2e4 N@f3 e.p. !? ?? 1.e4e5 exd8=K K+ a9 i5".split(),
        '[SetUp "1"]\n',
        *(
            f'[FEN "{fen}"]\n'
            for fen in (
                "",
                "8/8/8/8/8/8/8/8 w - - 0 1",
                "k7/8/8/8/8/8/8/K7 w KQkq e3 -1 -1",
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 99999999999999999999",
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 999999999 1",
                "9/8/8/8/8/8/8/K1k5 w - - 0 1",
                "kkkkkkkk/8/8/8/8/8/8/KKKKKKKK b - - 0 1",
                "RRRRRRRR/RRRRRRRR/8/8/k7/8/K7/8 w - - 0 1",
                "k7/8/8/8/8/8/8/K7",
                "QQQQQQQQ/QQQQQQQQ/QQQQQQQQ/8/8/8/K7/2k5 w - - 0 1",
            )
        ),
        '[Variant "Chess960"]\n',
        '[Result "nan"]\n',
        '[White "',
        '[x "\\"]\n',
        "[[",
        '["',
        "{[%eval nan]}",
        "{[%eval 1e999]}",
        "{ value nan }",
        "{ value -9e999 visits 1 }",
    ],
    "kif": [
        *(
            f"{word}\n"
            for word in (
                "手合割：平手",
                "手合割：香落ち",
                "手合割：",
                "変化：3手",
                "* 注",
                "*",
                "|",
                "| ・ ・|",
                "先手：",
                "後手の持駒：なし",
                "   1 投了",
                "   1 ７六歩(77)",
                "999999 ７六歩(77)",
                "   2 同　歩(33)",
                "   1 同(33)",
                "   1 ５五角打",
                "   1 ８八角成(88)",
                "   1 １一玉(59)",
                "まで1手で先手の勝ち",
                "   1 中断",
                "   1 千日手",
                "   0 ７六歩(77)",
                "   1 ７六歩(00)",
                "   1 ７六歩(77)   ( 0:00/99:99:99)",
                "手数＝1  ▲７六歩  まで",
                "開始日時：９９",
            )
        ),
        "同　",
        "打",
        "成",
        "不成",
        "王",
        "竜",
        "(77)",
        "　",
    ],
    "csa": [
        *(
            f"{word}\n"
            for word in (
                "V2.2",
                "V3.0",
                "PI",
                "PI82HI22KA",
                "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY",
                "P+00AL",
                "P-00AL",
                "P+55OU",
                "P1" + " * " * 9,
                "+",
                "-",
                "+7776FU",
                "-3334FU",
                "+0055KA",
                "+7776OU",
                "+9999FU",
                "+0000FU",
                "+1111RY",
                "T99999999999",
                "T-1",
                "%TORYO",
                "%",
                "%NAN",
                "%+ILLEGAL_ACTION",
                "'",
                "'注",
                "N+",
                "$EVENT:",
                "/",
                "+7776FU,T1,-3334FU,%TORYO",
                "$START_TIME:nan",
                "'$version",
                "+7776",
                "+7776fu",
                "-7776FU",
            )
        ),
        ",",
        "+",
        "-",
    ],
}


def played(game: Game, rng: random.Random, plies: int) -> list[int]:
    state, actions = game.initial_state(), []
    while len(actions) < plies and not game.is_terminal(state):
        actions.append(rng.choice(np.flatnonzero(game.legal_action_mask(state)).tolist()))
        state = game.step(state, actions[-1])
    return actions


def written(game: Game, form: TranscriptFormat, rng: random.Random) -> str:
    actions = played(game, rng, rng.choice((0, 1, 5, 30, 200)))
    comments = [rng.choice(("", "", "said", "[%eval 0.3] value -0.1")) for _ in actions]
    headers = {"event": "E", "site": "S", "date": "2026-01-31"}
    return form.write(
        Transcript(actions=actions, comments=comments, players=("A", "B"), headers=headers)
    )


def spoilt(text: str, other: str, kind: str, rng: random.Random) -> str:
    """The text with one to four faults."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 3, 40, 4000)))
        token = rng.choice(TOKENS[kind] if rng.random() < 0.8 else ANY)
        choice = rng.randrange(10)
        if choice < 4:
            text = text[:at] + token + text[at:]
        elif choice == 4:
            text = text[:at] + text[end:]
        elif choice == 5:
            text = text[:at] + text[at:end] * rng.choice((2, 3, 50)) + text[at:]
        elif choice == 6:
            cut = rng.randrange(len(other) + 1)
            text = text[:at] + other[cut:]
        elif choice == 7 and (numbers := list(re.finditer(r"\d+", text))):
            found = rng.choice(numbers)
            text = text[: found.start()] + rng.choice(ODD_NUMBERS) + text[found.end() :]
        elif choice == 8 and rng.random() < 0.2:
            token = rng.choice((token, token + "\n", f" {token}", rng.choice("([{;*'+aあ1 \n")))
            text = text[:at] + token * (rng.choice((100, 3000, LONG)) // len(token)) + text[at:]
        else:
            words = re.split(r"(\s+|(?<=\])|(?=;))", text)
            rng.shuffle(words) if rng.random() < 0.2 else words.reverse()
            text = "".join(words) if rng.random() < 0.3 else text[end:] + text[:at]
    return text[: 4 * LONG]


def use(game: Game, form: TranscriptFormat, transcript: Transcript) -> None:
    """Play what was read, and write it."""
    state = game.initial_state()
    if transcript.start_text is not None:
        state = game.state_from_text(transcript.start_text)
    for action in transcript.actions:
        assert game.legal_action_mask(state)[action]
        state = game.step(state, action)
    try:
        text = form.write(transcript)
    except InvalidTextError:  # a result that is not that of the rules, or what no file says
        return
    again = form.read(text)
    assert again.actions == transcript.actions, (again, transcript)


def encoded(text: str, rng: random.Random) -> bytes:
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "cp932", "latin-1", "utf-8-sig"))
    data = text.encode(encoding, errors=rng.choice(("replace", "ignore")))
    if rng.random() < 0.1:
        data = data[: rng.randrange(len(data) + 1)] + bytes(rng.randrange(256) for _ in range(4))
    return data


def fuzz(count: int, seed: int) -> Counter[str]:
    """How many were refused and how many were read, by the format."""
    rng, found = random.Random(seed), Counter[str]()
    known = []
    for name, settings, kind in GAMES:
        game = azcore.make(name, **settings)
        form = formats_of(game)[kind]
        try:
            known.append((game, form, kind, [written(game, form, rng) for _ in range(12)]))
        except AzcoreError as error:  # its library is not installed
            print(error, file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            game, form, kind, texts = rng.choice(known)
            text = spoilt(rng.choice(texts), rng.choice(texts), kind, rng)
            last = Path(folder) / f"last{form.suffix}"
            last.write_bytes(encoded(text, rng))
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                if kind == "sgf" and number % 4 == 0:
                    form.settings(text)
                transcript = read_transcript(last, game) if number % 2 else form.read(text)
            except AzcoreError as error:
                told = str(error)
                assert "\n" not in told, told
                assert len(told) < 600, told
                found[f"{kind} refused"] += 1
            else:
                use(game, form, transcript)
                found[f"{kind} read"] += 1
            finally:
                faulthandler.cancel_dump_traceback_later()
    return found


def main() -> None:
    faulthandler.enable()
    found = fuzz(int(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]))
    print(", ".join(f"{name} {number}" for name, number in sorted(found.items())))


if __name__ == "__main__":
    main()
