"""Opening books and tablebases in engines and matches: what is known is not searched."""

from __future__ import annotations

import csv
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import azcore as library
from azcore.arena.match import play_match, random_openings
from azcore.arena.players import RandomPlayer
from azcore.commands.engine import _settings as engine_settings_of_command
from azcore.engine.gtp import GtpServer
from azcore.engine.knowledge import Knowledge
from azcore.engine.lines import Writer
from azcore.engine.server import Engine, Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.engine.uci import UciServer
from azcore.errors import GameError, SettingError
from azcore.game import Book, Game, Solved, Tablebase
from azcore.search.evaluators import UniformEvaluator
from azcore.storage.books import CountedBook
from engine.partner import Ears, Partner, make_server
from protocol_kit import Live, make_engine

TABLES = str(Path(__file__).parents[1] / "data/syzygy")
WON = "position fen 8/8/8/8/8/1k6/8/R3K3 w - - 0 1"
LOST = "position fen 8/8/8/8/8/8/kp5K/8 w - - 0 1"
BLACK_WINS = "position fen 8/8/8/8/8/8/kp5K/8 b - - 0 1"
DRAWN = "position fen 8/8/8/8/8/4k3/4P3/4K3 w - - 0 1"
PGN = "\n".join(f'[Result "*"]\n\n1. {move} *\n' for move in ("e4", "e4", "d4", "c4"))
Make = Callable[..., Partner]


@pytest.fixture(scope="module")
def game() -> Game:
    return library.make("chess")


@pytest.fixture
def make(compose: Any, game: Game) -> Iterator[Make]:
    config = compose("command=engine", "game=chess")
    partners = []

    def new(**changes: Any) -> Partner:
        partners.append(Partner(lambda out: make_server(UciServer, config, game, out, **changes)))
        return partners[-1]

    yield new
    for partner in partners:
        partner.end()


@pytest.fixture(name="book")
def book_fixture(tmp_path: Path) -> str:
    (tmp_path / "book.pgn").write_text(PGN)
    return str(tmp_path / "book.pgn")


# -- books -------------------------------------------------------------------------------------


def test_the_engine_plays_from_its_book(make: Make, book: str) -> None:
    partner = make(book=book, book_choice="best")
    partner.say("isready", "position startpos", "go nodes 20")
    partner.hear("readyok")
    assert partner.hear("bestmove") == ["info string e2e4 is from the book", "bestmove e2e4"]
    assert "nodes 20" in partner_searches(partner, "position startpos moves e2e4", "go nodes 20")
    partner.say("setoption name OwnBook value false")
    assert "nodes 20" in partner_searches(partner, "position startpos", "go nodes 20")
    partner.say("setoption name OwnBook value true")
    partner.say("position startpos", "go nodes 5 searchmoves d2d4 a2a3")
    assert partner.hear("bestmove")[-1] == "bestmove d2d4"
    partner.say("go infinite")  # an analysis does not ask the book
    while not partner.hear("info")[-1].startswith("info depth"):
        pass
    assert partner.ask("stop").startswith("bestmove")


def test_a_book_that_is_gone_is_left_alone(
    make: Make, book: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is asked at every move, such as Polyglot's, may be removed or altered."""
    partner = make(book=book, book_choice="best")
    partner.say("isready")
    partner.hear("readyok")

    def actions(book: CountedBook, state: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(CountedBook, "actions", actions)
    assert "nodes 20" in partner_searches(partner, "position startpos", "go nodes 20")
    assert "continuing without the book: FileNotFoundError" in capsys.readouterr().err


def partner_searches(partner: Partner, *lines: str) -> str:
    partner.say(*lines)
    return partner.hear("bestmove")[-2]


def test_other_games_have_other_moves_of_the_book(make: Make, book: str) -> None:
    partner = make(book=book)
    partner.say("isready")
    partner.hear("readyok")
    played = []
    for _ in range(12):
        partner.say("ucinewgame")
        played.append(partner.ask("position startpos", "go nodes 5"))
        assert partner.ask("position startpos", "go nodes 5") == played[-1]
    assert set(played) == {"bestmove e2e4", "bestmove d2d4", "bestmove c2c4"}
    again = make(book=book)
    again.say("isready", "ucinewgame")
    again.hear("readyok")
    assert again.ask("position startpos", "go nodes 5") == played[0]


def test_a_book_made_by_polyglot(make: Make, tmp_path: Path) -> None:
    polyglot = shutil.which("polyglot", path="/usr/games:/usr/bin")
    if polyglot is None:
        pytest.skip("there is no polyglot")
    (tmp_path / "games.pgn").write_text(PGN)
    subprocess.run(
        [polyglot, "make-book", "-pgn", "games.pgn", "-bin", "book.bin", "-min-game", "1"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    partner = make()
    partner.say(f"setoption name BookFile value {tmp_path / 'book.bin'}", "isready")
    assert partner.hear("readyok") == ["readyok"]
    drawn = set()
    for _ in range(20):
        partner.say("ucinewgame")
        drawn.add(partner.ask("position startpos", "go nodes 5"))
    assert drawn <= {"bestmove e2e4", "bestmove d2d4", "bestmove c2c4"}
    assert "bestmove e2e4" in drawn


def test_a_book_ends_where_settings_say(make: Make, book: str) -> None:
    (Path(book).parent / "long.pgn").write_text("1. e4 e5 2. Nf3 Nc6 *")
    partner = make(book=str(Path(book).parent / "long.pgn"), book_plies=2)
    partner.say("isready")
    partner.hear("readyok")
    told = partner_searches(partner, "position startpos moves e2e4", "go nodes 5")
    assert told == "info string e7e5 is from the book"
    told = partner_searches(partner, "position startpos moves e2e4 e7e5", "go nodes 5")
    assert "nodes 5" in told


def test_gtp_plays_from_a_book(tmp_path: Path) -> None:
    (tmp_path / "book.sgf").write_text("(;GM[1]SZ[3]KM[7.5];B[aa];W[cc])")
    go = library.make("go", board_size=3)
    live = Live(GtpServer, make_engine(go, book=str(tmp_path / "book.sgf"), num_simulations=8))
    live.send("genmove b", "genmove w", "boardsize 5", "genmove b", "quit")
    assert [live.until("")[0] for _ in range(2)] == ["= A3", "= C1"]
    assert live.until("")[0].startswith("=")  # the book is of another board
    assert live.until("")[0].startswith("= ")
    live.end()
    live.join()


# -- tablebases --------------------------------------------------------------------------------


def test_the_tablebase_moves_and_tells_the_exact_value(make: Make) -> None:
    partner = make(tablebase=TABLES)
    partner.say("isready")
    partner.hear("readyok")
    told = partner_searches(partner, WON, "go nodes 50")
    assert " score cp 10000 " in told
    assert told.endswith(" tbhits 1 pv a1c1")
    told = partner_searches(partner, LOST, "go nodes 50")
    assert " score cp -10000 " in told
    told = partner_searches(partner, BLACK_WINS, "go nodes 50")
    assert " score cp 10000 " in told  # in the view of the player to move
    told = partner_searches(partner, DRAWN, "go nodes 50")
    assert " score cp 0 " in told  # by the search it would be more: a pawn ahead
    assert " nodes 50 " in told  # which of the moves that draw
    assert " tbhits 1 " in told
    told = partner_searches(partner, DRAWN, "go nodes 50 searchmoves e1d1")
    assert told.endswith(" pv e1d1")
    assert "tbhits" not in partner_searches(partner, "position startpos", "go nodes 5")


def test_an_endless_search_of_a_known_position_waits(make: Make) -> None:
    partner = make(tablebase=TABLES)
    partner.say("isready", WON, "go infinite")
    partner.hear("readyok")
    assert "tbhits 1" in partner.hear("info")[-1]
    assert not any(line.startswith("bestmove") for line in partner.quiet())
    assert partner.ask("stop").startswith("bestmove a1c1")
    partner.say(WON, "go ponder nodes 5")
    assert not any(line.startswith("bestmove") for line in partner.quiet())
    assert partner.ask("ponderhit") == "bestmove a1c1"


def test_options_that_name_nothing_are_told_and_change_nothing(make: Make, book: str) -> None:
    partner = make(tablebase=TABLES, book=book)
    partner.say("isready")
    partner.hear("readyok")
    partner.say("setoption name SyzygyPath value ./syzygy/")  # lichess-bot's default
    partner.say("setoption name BookFile value nowhere.pgn", "isready")
    told = partner.hear("readyok")
    assert told == [
        "info string engine.book must be a file, got 'nowhere.pgn'",
        "info string chess: the tablebase ./syzygy/ cannot be read: No such file or directory",
        "readyok",
    ]
    assert "tbhits 1" in partner_searches(partner, WON, "go nodes 5")
    assert "from the book" in partner_searches(partner, "position startpos", "go nodes 5")
    partner.say("setoption name SyzygyPath value <empty>", "setoption name BookFile value")
    assert "tbhits" not in partner_searches(partner, WON, "go nodes 5")
    assert "nodes 5" in partner_searches(partner, "position startpos", "go nodes 5")


def test_options_may_come_while_the_engine_loads(compose: Any, game: Game) -> None:
    """Which is as clients send them: a folder that is not there is no reason to end."""
    config, loaded, ears = compose("command=engine", "game=chess"), threading.Event(), Ears()
    search = thinking_search(config)
    settings = engine_settings(config)

    def load() -> Loaded:
        assert loaded.wait(60)
        return Loaded(game, UniformEvaluator(game))

    partner = Partner(lambda _: UciServer(Engine(load, search, settings), Writer(ears)))
    partner._ears = ears
    partner.say("uci", "setoption name SyzygyPath value ./syzygy/", "isready")
    partner.hear("uciok")
    time.sleep(0.1)
    loaded.set()
    assert "tablebase ./syzygy/ cannot be read" in partner.hear("readyok")[0]
    assert partner.ask("go nodes 5").startswith("bestmove")
    partner.end()


def test_a_damaged_table_is_left_alone(make: Make, tmp_path: Path, capsys: Any) -> None:
    for file in Path(TABLES).glob("KRvK.*"):
        content = file.read_bytes()
        (tmp_path / file.name).write_bytes(content[:16] + bytes(len(content) - 16))
    partner = make(tablebase=str(tmp_path))
    assert " nodes 5 " in partner_searches(partner, WON, "go nodes 5")
    assert "azcore: continuing without the tablebase: chess:" in capsys.readouterr().err


def test_what_the_command_line_cannot_use_is_refused(
    compose: Any, azcore: Callable[..., tuple[int, str, str]]
) -> None:
    with pytest.raises(SettingError, match="which plays no moves, got a"):
        engine_settings_of_command(
            compose("command=engine", "engine.protocol=analysis", "engine.book=a.pgn")
        )
    settings = engine_settings_of_command(compose("command=engine", "engine.tablebase=somewhere"))
    with pytest.raises(GameError, match="be null for tic_tac_toe, which has no"):
        Knowledge(library.make("tic_tac_toe"), settings, 0)
    status, _, error = azcore("command=play", "game=chess", "engine.book=a.pgn")
    assert status == 2
    assert "command=engine has books and tablebases" in error


# -- matches -----------------------------------------------------------------------------------


class Opening(Book):
    """Knows the first two plies: b2, and then a1 or c3."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def actions(self, state: Any) -> list[tuple[int, float]]:
        stones = 9 - int(self.game.legal_action_mask(state).sum())
        named = {0: {"b2": 1.0}, 1: {"a1": 3.0, "c3": 1.0}}.get(stones, {})
        return [(self.game.text_to_action(state, move), w) for move, w in named.items()]


class Five(Tablebase):
    """Says that whoever is to move after five plies has lost."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def solve(self, state: Any) -> Solved | None:
        if int(self.game.legal_action_mask(state).sum()) != 4:
            return None
        outcome = -1 if self.game.current_player(state) == 0 else 1
        return Solved(outcome=outcome, actions=())


def test_matches_open_by_a_book_and_end_by_a_tablebase() -> None:
    game = library.make("tic_tac_toe")
    players = RandomPlayer(game=game), RandomPlayer(game=game, name="other")
    result = play_match(
        game,
        *players,
        num_games=12,
        opening_plies=5,
        seed=3,
        book=Opening(game),
        tablebase=Five(game),
    )
    openings = {tuple(one.actions[: one.opening_plies]) for one in result.games}
    b2, a1, c3 = (game.text_to_action(game.initial_state(), move) for move in ("b2", "a1", "c3"))
    assert openings == {(b2, a1), (b2, c3)}
    ended = [one for one in result.games if one.adjudicated == "tablebase"]
    assert ended
    assert all(len(one.actions) == 5 and one.outcome == 1 for one in ended)
    others = [one for one in result.games if one.adjudicated is None]
    assert all(len(one.actions) == 5 and one.outcome == 1 for one in others)  # won by then
    openings_of_one = random_openings(game, 4, 2, 3, None, Opening(game))
    assert len({game.state_to_text(one.state) for one in openings_of_one}) == 2
    blank = Opening(game)
    blank.actions = lambda _: []  # type: ignore[method-assign]
    with pytest.raises(
        SettingError, match=r"arena\.book must be a book with the starting positions of the games"
    ):
        random_openings(game, 4, 2, 3, None, blank)


def test_the_arena_with_book_and_tablebase(
    azcore: Callable[..., tuple[int, str, str]], tmp_path: Path, book: str
) -> None:
    base = ("command=arena", "game=chess", "players=[random,search:2]", "arena.games=2")
    status, told, error = azcore(
        *base,
        f"arena.book={book}",
        "arena.opening_plies=1",
        f"arena.tablebase={TABLES}",
        "arena.export=pgn",
        "run_dir=found",
        "game.max_plies=12",
    )
    assert (status, error) == (0, "")
    assert f"openings from {book}, ended by {TABLES}" in told.replace("\n", " ")
    with (tmp_path / "found/games.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["actions"].split()[0] for row in rows} <= {"e2e4", "d2d4", "c2c4"}
    assert "{ from the book }" in (tmp_path / "found/games/000000.pgn").read_text().replace(
        "\n", " "
    )
    for wrong, says in (
        (f"arena.tablebase={tmp_path}", "must be a folder with Syzygy tables"),
        ("arena.book=nowhere.pgn", "arena.book must be a file, got 'nowhere.pgn'"),
    ):
        status, _, error = azcore(*base, wrong, "run_dir=other")
        assert status == 2
        assert says in error
    status, _, error = azcore(*base, f"arena.book={book}", "arena.opening_plies=0")
    assert status == 2
    assert "arena.opening_plies must be 1 or more with arena.book" in error
