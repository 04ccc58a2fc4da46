"""The rating list: one line per player."""

from collections.abc import Sequence
from dataclasses import dataclass

from azcore.arena.elo import MatchScore, RatingList, expected_score, updated_rating
from azcore.arena.match import MatchResult


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A player's line in the list."""

    player: str
    elo: float
    low: float
    high: float
    total: MatchScore  # of its distinct games
    los_next: float | None  # likelihood that it is stronger than the next in the list
    elo_k: float | None  # the rating by the rule that clubs use, see `club_ratings`


def standings_of(
    results: Sequence[MatchResult], rated: RatingList, k: float | None
) -> list[Standing]:
    """The list, the strongest first."""
    totals: dict[str, list[MatchScore]] = {}
    for result in results:
        for seen in (result.distinct, result.distinct.turned()):
            totals.setdefault(seen.player, []).append(seen.total)
    teaching = club_ratings(results, k) if k else {}
    order = sorted(
        (name for name in rated.ratings if name in totals),
        key=lambda name: -rated.ratings[name].value,
    )
    standings = []
    for place, name in enumerate(order):
        scores, rating = totals[name], rated.ratings[name]
        standings.append(
            Standing(
                player=name,
                elo=rating.value,
                low=rating.low,
                high=rating.high,
                total=MatchScore(
                    player=name,
                    opponent="all",
                    wins=sum(score.wins for score in scores),
                    draws=sum(score.draws for score in scores),
                    losses=sum(score.losses for score in scores),
                ),
                los_next=(
                    rated.superiority(name, order[place + 1]) if place + 1 < len(order) else None
                ),
                elo_k=teaching.get(name),
            )
        )
    return standings


def club_ratings(results: Sequence[MatchResult], k: float) -> dict[str, float]:
    """R' = R + K (S - E) after each game in the order of the results; all begin at 0."""
    ratings: dict[str, float] = {}
    for result in results:
        for game in result.games:
            a, b = ratings.get(result.first, 0.0), ratings.get(result.second, 0.0)
            expected = expected_score(a - b)
            ratings[result.first] = updated_rating(a, k, game.points, expected)
            ratings[result.second] = updated_rating(b, k, 1 - game.points, 1 - expected)
    return ratings
