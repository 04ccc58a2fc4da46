"""Go the slow, obvious way: what the compiled rules are compared with.

It shares no code with them. A board is a dict of the stones on it, liberties are found by flooding,
superko by keeping every board, and a move is tried out to see whether it is legal.
"""

from __future__ import annotations

Point = tuple[int, int]  # row from the top, column
Board = dict[Point, str]  # stones alone: "X" Black, "O" White


class SlowGo:
    """One game on a board of `size`, with actions and planes as on one of `array_size`."""

    def __init__(self, size: int, suicide: bool, array_size: int = 0, komi: float = 0.5) -> None:
        self.size = size
        self.array_size = array_size or size
        self.komi = komi
        self.suicide = suicide
        self.boards: list[Board] = [{}]  # after every ply, passes too, the empty one first
        self.seen = {frozenset[tuple[Point, str]]()}
        self.passes = 0
        self.colour = "X"

    @property
    def board(self) -> Board:
        return self.boards[-1]

    def over(self) -> bool:
        return self.passes == 2 or len(self.boards) - 1 == 2 * self.size**2

    def legal(self) -> set[int]:
        if self.over():
            return set()
        cells = range(self.array_size**2)
        return {cell for cell in cells if self.board_after(cell) is not None} | {cells.stop}

    def is_legal(self, action: int) -> bool:
        is_pass = action == self.array_size**2
        return not self.over() and (is_pass or self.board_after(action) is not None)

    def play(self, action: int) -> None:
        if action == self.array_size**2:
            self.boards.append(self.board)
            self.passes += 1
        else:
            after = self.board_after(action)
            assert after is not None, "not a legal play"
            self.boards.append(after)
            self.seen.add(frozenset(after.items()))
            self.passes = 0
        self.colour = other(self.colour)

    def board_after(self, cell: int) -> Board | None:
        """The board after a play, or None if it is not legal."""
        row, column = divmod(cell, self.array_size)
        point = row - (self.array_size - self.size), column
        if point in self.board or point[0] < 0 or column >= self.size:
            return None
        board = dict(self.board)
        board[point] = self.colour
        for near in self.neighbours(point):
            if board.get(near) == other(self.colour):
                self.remove_if_dead(board, near)
        self.remove_if_dead(board, point)
        if not self.suicide and point not in board:
            return None
        return None if frozenset(board.items()) in self.seen else board

    def remove_if_dead(self, board: Board, point: Point) -> None:
        chain, around = self.flood(board, point)
        if all(near in board for near in around):
            for stone in chain:
                del board[stone]

    def flood(self, board: Board, start: Point) -> tuple[set[Point], set[Point]]:
        """The points joined to `start` that hold the same, and the points around them."""
        same, around, waiting = {start}, set(), [start]
        while waiting:
            for near in self.neighbours(waiting.pop()):
                if board.get(near) != board.get(start):
                    around.add(near)
                elif near not in same:
                    same.add(near)
                    waiting.append(near)
        return same, around

    def neighbours(self, point: Point) -> list[Point]:
        row, column = point
        around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [(r, c) for r, c in around if 0 <= r < self.size and 0 <= c < self.size]

    def owners(self) -> list[list[int]]:
        """Whose area each point is: 1 Black's, -1 White's, 0 nobody's."""
        areas = [[0] * self.size for _ in range(self.size)]
        for cell in range(self.size**2):
            point = row, column = divmod(cell, self.size)
            if point in self.board:
                owners = {self.board[point]}
            else:
                _, around = self.flood(self.board, point)
                owners = {self.board[near] for near in around}
            areas[row][column] = (owners == {"X"}) - (owners == {"O"})
        return areas

    def lead(self) -> int:
        """Black's area less White's."""
        return sum(map(sum, self.owners()))

    def rows(self) -> list[str]:
        return draw(self.board, self.size)

    def array(self, board: list[list[int]]) -> list[list[int]]:
        """Numbers of the board at the bottom left of an array, with zeros around them."""
        outside = self.array_size - self.size
        return [[0] * self.array_size] * outside + [[*row, *[0] * outside] for row in board]

    def planes(self, several: bool = False) -> list[list[list[int]]]:
        """The network's 17 planes, as lists; `several`: the two of a game of several kinds too."""
        boards = [*reversed(self.boards), *[{}] * 8][:8]
        own, opponent = self.colour, other(self.colour)
        planes = [
            [
                [int(board.get((row, column)) == colour) for column in range(self.size)]
                for row in range(self.size)
            ]
            for colour in (own, opponent)
            for board in boards
        ]
        width = self.array_size
        planes = [self.array(plane) for plane in planes] + [[[int(own == "X")] * width] * width]
        if several:
            own_komi = self.komi if own == "O" else -self.komi
            planes.append([[int(2 * own_komi + 50)] * width] * width)
            planes.append(self.array([[1] * self.size] * self.size))
        return planes


def other(colour: str) -> str:
    return "O" if colour == "X" else "X"


def draw(board: Board, size: int) -> list[str]:
    return ["".join(board.get((row, column), ".") for column in range(size)) for row in range(size)]
