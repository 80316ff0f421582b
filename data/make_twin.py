"""Make the twin of the Titanic passenger list: ``python -m data.make_twin``.

The twin is a table of 891 invented passengers in the twelve familiar columns, free to share
(CC0). It is drawn with a fixed seed from the counts and summary figures below; no row of the
real list enters. What it reproduces exactly, what closely and what not at all is in
``data/README.md``. The same bytes come out on every machine: only ``Random.random()`` is used,
the one method whose sequence Python promises to keep for a given seed.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Figures = tuple[float, ...]
SEED = 1912
TEST_ROWS = 179  # of 891: the fifth part, as in the lessons this data is for

# Source of every figure below: the 891-passenger list (Kaggle, "Titanic: Machine Learning from
# Disaster", after Encyclopedia Titanica), grouped and counted on 2026-11-20.


class Cell(NamedTuple):
    """Counts of one class, sex and outcome; "family" is relatives aboard, SibSp + Parch."""

    pclass: int
    sex: str
    survived: int
    ports: tuple[int, int, int, int]  # Southampton, Cherbourg, Queenstown, not recorded
    family: tuple[int, int, int]  # alone, 1 to 3 relatives, 4 or more
    children: tuple[int, int, int]  # under 10 years, by the same three sizes of family
    no_age: int  # age not recorded
    cabins: int  # cabin recorded


CELLS = (
    Cell(1, "female", 0, (2, 1, 0, 0), (1, 2, 0), (0, 1, 0), 0, 3),
    Cell(1, "female", 1, (46, 42, 1, 2), (33, 54, 4), (0, 0, 0), 9, 78),
    Cell(1, "male", 0, (51, 25, 1, 0), (50, 25, 2), (0, 0, 0), 16, 56),
    Cell(1, "male", 1, (28, 17, 0, 0), (25, 20, 0), (0, 2, 0), 5, 39),
    Cell(2, "female", 0, (6, 0, 0, 0), (3, 3, 0), (0, 0, 0), 0, 1),
    Cell(2, "female", 1, (61, 7, 2, 0), (29, 39, 2), (0, 8, 0), 2, 9),
    Cell(2, "male", 0, (82, 8, 1, 0), (65, 26, 0), (0, 0, 0), 7, 2),
    Cell(2, "male", 1, (15, 2, 0, 0), (7, 10, 0), (0, 9, 0), 2, 4),
    Cell(3, "female", 0, (55, 8, 9, 0), (23, 25, 24), (0, 2, 8), 17, 2),
    Cell(3, "female", 1, (33, 15, 24, 0), (37, 32, 3), (1, 9, 1), 25, 4),
    Cell(3, "male", 0, (231, 33, 36, 0), (232, 42, 26), (0, 0, 13), 85, 4),
    Cell(3, "male", 1, (34, 10, 3, 0), (32, 14, 1), (0, 7, 1), 9, 2),
)

# How many passengers of each class had (SibSp, Parch) relatives aboard.
RELATIVES = {
    1: {(0, 0): 109, (0, 1): 19, (0, 2): 9, (1, 0): 51, (1, 1): 12, (1, 2): 7, (1, 4): 1,
        (2, 0): 3, (2, 2): 2, (3, 2): 3},
    2: {(0, 0): 104, (0, 1): 8, (0, 2): 8, (1, 0): 26, (1, 1): 20, (1, 2): 8, (1, 3): 1,
        (2, 0): 3, (2, 1): 4, (2, 3): 1, (3, 0): 1},
    3: {(0, 0): 324, (0, 1): 11, (0, 2): 12, (0, 3): 1, (0, 4): 1, (0, 5): 2, (1, 0): 46,
        (1, 1): 25, (1, 2): 4, (1, 3): 2, (1, 4): 2, (1, 5): 3, (1, 6): 1, (2, 0): 10,
        (2, 1): 3, (2, 2): 2, (3, 0): 1, (3, 1): 7, (3, 2): 4, (4, 1): 9, (4, 2): 9,
        (5, 2): 5, (8, 2): 7},
}  # fmt: skip

# Smallest, 10 %, 25 %, median, 75 %, 85 %, 95 % and largest of a group.
STEPS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0)

# Age in years from 10 on, by class, sex and outcome; where one outcome has fewer than ten
# passengers both are pooled ("any"), so that the figures do not give single persons away.
AGES: dict[tuple[int, str, object], Figures] = {
    (1, "female", "any"): (14, 18, 23.8, 35, 44.2, 50.5, 58, 63),
    (1, "male", 0): (18, 24, 33, 45.5, 56, 61, 65, 71),
    (1, "male", 1): (11, 25, 28, 36, 48, 49.5, 56.6, 80),
    (2, "female", "any"): (13, 19, 24, 29.5, 37.5, 42.5, 50, 57),
    (2, "male", "any"): (16, 19, 25, 31, 39, 47.6, 58.1, 70),
    (3, "female", 0): (10, 16.4, 20, 26, 37, 41, 45, 48),
    (3, "female", 1): (13, 15, 18, 22.5, 27.5, 31, 36.5, 63),
    (3, "male", 0): (10, 18, 21, 26, 34.4, 40, 48.9, 74),
    (3, "male", 1): (12, 18.9, 21.2, 27, 31.8, 32, 41.7, 45),
}
# Age in years of the children, by outcome.
CHILD_AGES = {0: (1, 2, 2, 4, 8.25, 9, 9, 9), 1: (0.42, 0.81, 1, 3, 5, 6, 8.15, 9)}

# Fare in pounds, zero fares left out, by class and number of relatives (0, 1, and so on up to the
# number given); of those alone also by sex (first class) or port (third).
FARES: dict[tuple[int, int, str], Figures] = {
    (1, 0, "female"): (25.93, 28.02, 60.02, 81.58, 135.35, 151.65, 227.53, 512.33),
    (1, 0, "male"): (5, 26.29, 26.55, 30.5, 37.75, 50.32, 110.24, 512.33),
    (1, 1, "any"): (29.7, 52, 55.56, 76.73, 90, 113.28, 220.24, 512.33),
    (1, 10, "any"): (26.28, 52.55, 79.65, 113.28, 151.55, 242.02, 263, 263),
    (2, 0, "any"): (10.5, 10.5, 11.5, 13, 13, 15.02, 26, 73.5),
    (2, 1, "any"): (11.5, 19.95, 23, 26, 26, 27.04, 31.1, 33),
    (2, 10, "any"): (11.5, 18.75, 26, 27.38, 38.5, 41.58, 71.38, 73.5),
    (3, 0, "S"): (6.24, 7.25, 7.78, 7.92, 8.19, 9.34, 14.89, 56.5),
    (3, 0, "C"): (4.01, 7.22, 7.22, 7.23, 7.9, 8.24, 15.11, 18.79),
    (3, 0, "Q"): (6.75, 7.73, 7.74, 7.75, 7.75, 7.88, 8.25, 24.15),
    (3, 1, "any"): (6.5, 7.78, 9.47, 14.45, 16.1, 16.1, 19.97, 24.15),
    (3, 3, "any"): (7.23, 8.29, 14.47, 16.7, 20.54, 22.36, 24.15, 24.15),
    (3, 10, "any"): (7.92, 25.47, 27.9, 31.33, 39.69, 46.9, 69.55, 69.55),
}
# The fares that most tickets had; a drawn fare within 3 % of one becomes that one.
USUAL_FARES = (7.225, 7.25, 7.75, 7.775, 7.8542, 7.8958, 7.925, 8.05, 8.6625, 9.5, 10.5, 13.0,
               14.5, 15.5, 16.1, 21.0, 24.15, 26.0, 26.55, 30.0, 52.0)  # fmt: skip
FREE = {(1, 0): 5, (2, 0): 6, (3, 0): 3, (3, 1): 1}  # zero fares by class and outcome: lone men, S
DECKS = {1: "AABBBBCCCCCDDDEE", 2: "DEFF", 3: "EFFG"}  # of the cabins, about their shares

# Everything from here on is invented. A surname is a stem and an ending.
# fmt: off
STEMS = ["Ald", "Bram", "Cors", "Dray", "Elm", "Fenn", "Garr", "Hask", "Ister", "Jarl", "Kest",
         "Lorr", "Mend", "Nors", "Ost", "Pell", "Quar", "Rusk", "Sted", "Torv", "Ulm", "Vess"]
ENDINGS = ["acre", "arro", "beck", "borne", "dal", "ekson", "ell", "erby", "esco", "field", "gate",
           "holt", "ick", "ing", "ivar", "lund", "mere", "nik", "ova", "quist", "stad", "tov"]
WOMEN = ["Ada", "Agnes", "Alma", "Clara", "Dora", "Edith", "Ella", "Elsa", "Flora", "Greta",
         "Hilda", "Ingrid", "Jane", "Kate", "Lily", "Mabel", "Maria", "Nora", "Rosa", "Vera"]
MEN = ["Adam", "Alfred", "Anton", "Carl", "David", "Emil", "Felix", "Frank", "George", "Gustav",
       "Henry", "Hugo", "Ivan", "Jakob", "John", "Louis", "Nils", "Oscar", "Peter", "Thomas"]
TICKETS = ["", "", "", "", "NA ", "T.L. ", "R/7. ", "LN "]
HEADER = ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket",
          "Fare", "Cabin", "Embarked"]
# fmt: on


@dataclass
class Passenger:
    """One invented passenger; the fields with a default are drawn step by step."""

    pclass: int
    sex: str
    survived: int
    size: int  # of the family: 0 alone, 1 small, 2 large
    child: bool  # under 10 years
    port: str = ""
    age: float | None = None
    sibsp: int = 0
    parch: int = 0
    surname: str = ""
    ticket: str = ""
    fare: float = 0.0
    cabin: str = ""
    name: str = ""
    number: int = 0


def pick(rng: Random, values: Sequence[T]) -> T:
    """Return one of ``values``, each as likely as the others."""
    return values[int(rng.random() * len(values))]


def shuffle(rng: Random, values: Sequence[T]) -> list[T]:
    """Return ``values`` in a random order."""
    return sorted(values, key=lambda _: rng.random())


def spread(figures: Figures, count: int) -> list[float]:
    """Return ``count`` ascending values whose quantiles at ``STEPS`` are about ``figures``."""
    values = []
    for i in range(count):
        u = (i + 0.5) / count
        k = max(j for j in range(len(STEPS) - 1) if STEPS[j] <= u)
        part = (u - STEPS[k]) / (STEPS[k + 1] - STEPS[k])
        values.append(figures[k] + part * (figures[k + 1] - figures[k]))
    return values


def draw_cell(rng: Random, cell: Cell) -> list[Passenger]:
    """Draw the passengers of one cell: port, size of family, who is a child, who has a cabin."""
    people = []
    for size, (count, children) in enumerate(zip(cell.family, cell.children, strict=True)):
        people += [Passenger(*cell[:3], size, child=i < children) for i in range(count)]
    # Most large families came aboard at Southampton, so they are served first.
    by_port = sorted(people, key=lambda p: rng.random() - (p.size == 2))
    ports = [port for port, count in zip("SCQ?", cell.ports, strict=True) for _ in range(count)]
    for person, port in zip(by_port, ports, strict=True):
        person.port = port.strip("?")
    for person in shuffle(rng, people)[: cell.cabins]:
        person.cabin = "recorded"  # its number comes with the ticket
    return people


def draw_relatives(rng: Random, people: list[Passenger], pclass: int) -> None:
    """Hand out the (SibSp, Parch) pairs of one class; children get parents aboard first."""
    for size in (0, 1, 2):
        pairs = [
            pair
            for pair, count in RELATIVES[pclass].items()
            if (0, 1, 4)[size] <= sum(pair) <= (0, 3, 99)[size]
            for _ in range(count)
        ]
        group = [p for p in people if p.pclass == pclass and p.size == size]
        # A child has one or two parents aboard; of the others, women rather than men have
        # children with them.
        pairs.sort(key=lambda pair: (pair[1] not in (1, 2), rng.random()))
        group.sort(key=lambda p: not p.child)
        children = sum(p.child for p in group)
        rest = sorted(pairs[children:], key=lambda pair: rng.random() - 0.3 * (pair[1] > 0))
        grown = sorted(group[children:], key=lambda p: rng.random() - 0.3 * (p.sex == "female"))
        for person, pair in zip(group[:children] + grown, pairs[:children] + rest, strict=True):
            person.sibsp, person.parch = pair


def draw_ages(rng: Random, people: list[Passenger], cell: Cell) -> None:
    """Give ages to the passengers of one cell; those who travel as sons and daughters are young."""

    def rank(person: Passenger) -> float:
        if person.sibsp >= 2 and person.parch in (1, 2):
            return rng.random() - 1.0
        parent = person.parch >= 3 or (person.sibsp == 1 and person.parch > 0)
        return rng.random() + (0.5 if parent else 0.0)

    children = shuffle(rng, [p for p in people if p.child])
    grown = shuffle(rng, [p for p in people if not p.child])[cell.no_age :]
    key = (cell.pclass, cell.sex)
    figures = AGES.get((*key, "any")) or AGES[(*key, cell.survived)]
    for person, age in zip(sorted(grown, key=rank), spread(figures, len(grown)), strict=True):
        # One age in forty is an estimate, which the list marks by a half year.
        person.age = int(age + 0.5) + (0.5 if rng.random() < 0.025 else 0.0)
    ages = spread(CHILD_AGES[cell.survived], len(children))
    for person, age in zip(children, ages, strict=True):
        person.age = float(int(age + 0.5)) if age >= 1 else round(int(age * 12 + 0.5) / 12, 2)


def parties(people: list[Passenger]) -> list[list[Passenger]]:
    """Group passengers of one class, port and size of family into families, adults spread first."""
    groups: dict[tuple[object, ...], list[Passenger]] = defaultdict(list)
    for p in people:
        relatives = p.sibsp + p.parch
        # Two who travel together are a couple or a parent and child, not one of each.
        groups[p.pclass, p.port, relatives, p.sibsp if relatives == 1 else 0].append(p)
    made = []
    for group in groups.values():
        group.sort(key=lambda p: (p.child, p.sex))
        members = group[0].sibsp + group[0].parch + 1
        count = -(-len(group) // members)  # rounded up
        made += [group[i::count] for i in range(count)]
    return made


def draw_tickets(rng: Random, people: list[Passenger]) -> None:
    """Give each party one surname, ticket, cabin number and fare."""
    numbers = shuffle(rng, range(400_000, 410_000))  # the real list has none of these
    free = dict(FREE)
    by_figures = defaultdict(list)
    for party in shuffle(rng, parties(people)):
        p = party[0]
        relatives = p.sibsp + p.parch
        surname = pick(rng, STEMS) + pick(rng, ENDINGS)
        ticket = f"{pick(rng, TICKETS)}{numbers.pop()}"
        cabin = f"{pick(rng, DECKS[p.pclass])}{int(201 + rng.random() * 99)}"  # the real end at 148
        for member in party:
            member.surname, member.ticket = surname, ticket
            member.cabin = member.cabin and cabin
        lone_man = p.sex == "male" and p.port == "S" and relatives == 0
        if lone_man and free.get((p.pclass, p.survived), 0):
            free[p.pclass, p.survived] -= 1
        else:
            limit = min(key[1] for key in FARES if key[0] == p.pclass and key[1] >= relatives)
            keys = [(p.pclass, limit, of) for of in (p.sex, p.port, "any")]
            by_figures[next(key for key in keys if key in FARES)].append(party)
    for figures, paying in by_figures.items():
        for party, fare in zip(paying, spread(FARES[figures], len(paying)), strict=True):
            for member in party:
                member.fare = familiar(fare)


def familiar(fare: float) -> float:
    """Return ``fare`` as the list writes one: a usual fare, or whole pence as decimal pounds."""
    usual = min(USUAL_FARES, key=lambda u: abs(u - fare))
    if abs(usual - fare) <= 0.03 * fare:
        return usual
    return round(round(fare * 240) / 240, 4)  # a pound had 240 pence


def draw_name(rng: Random, p: Passenger) -> str:
    """Return "Surname, Title. Given", the title fitting sex, age and family."""
    young = p.sibsp >= 2 and p.parch in (1, 2) if p.age is None else p.age < 13
    his, her = (
        pick(rng, names) + f" {pick(rng, names)}" * pick(rng, (0, 1)) for names in (MEN, WOMEN)
    )
    if p.sex == "male":
        doctor = p.pclass < 3 and rng.random() < 0.05
        return f"{p.surname}, {'Master' if young else 'Dr' if doctor else 'Mr'}. {his}"
    grown = not young and (p.age is None or p.age >= 18)
    if grown and rng.random() < (0.8 if p.sibsp == 1 or p.parch else 0.25):
        return f"{p.surname}, Mrs. {his} ({her} {pick(rng, STEMS)}{pick(rng, ENDINGS)})"
    return f"{p.surname}, Miss. {her}"


def make_twin(seed: int = SEED) -> list[Passenger]:
    """Return the 891 passengers of the twin, numbered in a shuffled order."""
    rng = Random(seed)
    cells = [(cell, draw_cell(rng, cell)) for cell in CELLS]
    people = [p for _, members in cells for p in members]
    for pclass in RELATIVES:
        draw_relatives(rng, people, pclass)
    for cell, members in cells:
        draw_ages(rng, members, cell)
    draw_tickets(rng, people)
    people = shuffle(rng, people)
    taken = {""}
    for number, person in enumerate(people, start=1):
        person.number = number
        while person.name in taken:
            person.name = draw_name(rng, person)
        taken.add(person.name)
    return people


def split(people: list[Passenger]) -> tuple[list[Passenger], list[Passenger]]:
    """Return the training and the test passengers, each group in its fair share.

    Every fifth passenger (891 / 179, to be exact) is taken from the list ordered by class, sex,
    outcome, port and age, so both parts have the same mix; both keep the shuffled order.
    """
    order = sorted(
        people, key=lambda p: (p.pclass, p.sex, p.survived, p.port, p.age or -1.0, p.number)
    )
    chosen = {order[(2 * i + 1) * len(people) // (2 * TEST_ROWS)].number for i in range(TEST_ROWS)}
    train = [p for p in people if p.number not in chosen]
    return train, [p for p in people if p.number in chosen]


def as_csv(people: list[Passenger]) -> bytes:
    """Return the passengers as CSV, with a header, in UTF-8 and with lines ending in \\n."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for p in people:
        age = "" if p.age is None else p.age
        row = [p.number, p.survived, p.pclass, p.name, p.sex, age, p.sibsp, p.parch]
        writer.writerow([*row, p.ticket, p.fare, p.cabin, p.port])
    return text.getvalue().encode()


def main(folder: Path = Path(__file__).parent) -> None:
    """Write ``titanic_train.csv`` and ``titanic_test.csv`` to ``folder``."""
    for name, people in zip(("train", "test"), split(make_twin()), strict=True):
        path = folder / f"titanic_{name}.csv"
        path.write_bytes(as_csv(people))
        print(f"{path}: {len(people)} passengers of the twin")


if __name__ == "__main__":
    main()
