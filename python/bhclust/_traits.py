"""What sets groups of rows apart: the columns that tell most, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ._column import Column
from ._condense import Floats, Ints

_YES = frozenset({"1", "yes", "y", "true", "t"})
_COUNTED = ("poisson", "multinomial")
_LEAST = 0.05
_MOST_COLUMNS = 200
_MOST_WORDS = 3
_MOST_ROUNDS = 6
_LONGEST = 30


@dataclass(frozen=True)
class Trait:
    """Something that sets a group apart: in full, in short, and how far (nats a row).

    `exact` is short too, but says how much; `column` is where it was found.
    """

    text: str
    short: str
    distance: float
    is_lack: bool = False
    exact: str = ""
    column: str = ""


def traits(columns: Mapping[str, Column], labels: Ints, *, most: int = 4) -> list[list[Trait]]:
    """Find what sets each cluster apart, the most telling column first.

    A column tells as much as the divergence of its values in the cluster from those in the whole
    table: Kullback and Leibler's between the shares, the Poisson means, or the normal means.
    O(rows · columns).
    """
    clusters = int(labels.max()) + 1
    if clusters == 1:
        return [[]]
    every = np.arange(clusters)
    contrasts = [profile.among(every, clusters) for profile in _profiles(columns, labels, clusters)]
    distances = np.array([contrast.distance for contrast in contrasts]).reshape(-1, clusters)
    order = np.argsort(-distances, axis=0, kind="stable")[:most]
    return [
        [contrasts[place].trait(label) for place in places if distances[place, label] > _LEAST]
        for label, places in enumerate(order.T.tolist())
    ]


class Contrast(Protocol):
    """How far the values of a column in each of some groups are from those in all of them."""

    @property
    def column(self) -> Column: ...
    @property
    def distance(self) -> Floats: ...
    def trait(self, group: int) -> Trait: ...


class Profile(Protocol):
    """The values of a column in each part of a table, as far as contrasts need them."""

    def among(self, groups: Ints, n_groups: int) -> Contrast:
        """Contrast groups of parts: the group of each part, -1 for parts left out."""
        ...


def _profiles(columns: Mapping[str, Column], labels: Ints, parts: int) -> Iterable[Profile]:
    totals = _multinomial_totals(columns)
    sizes = np.bincount(labels, minlength=parts).astype(np.float64)
    for column in columns.values():
        present = ~np.isnan(column.values)
        values, inside = column.values[present], labels[present]
        if column.family in ("bernoulli", "categorical"):
            yield _Coded.of(column, values.astype(np.int64), inside, sizes)
            continue
        if column.family == "multinomial":
            values = values * totals[present]
        yield _Measured.of(column, values, inside, sizes)


def _multinomial_totals(columns: Mapping[str, Column]) -> Floats:
    """Find for each row what brings its counts to the mean total, for rows are compared by shares.

    Rows without a count stay as they are.
    """
    counts = [column.values for column in columns.values() if column.family == "multinomial"]
    if not counts:
        return np.ones(0)
    totals = np.nansum(counts, axis=0)
    mean = totals.mean() if len(totals) else 1.0
    scaled: Floats = np.divide(mean, totals, out=np.ones_like(totals), where=totals > 0)
    return scaled


def _gather(values: Floats, groups: Ints, n_groups: int) -> Floats:
    """Sum the values of the parts of each group."""
    taken = groups >= 0
    sums = np.zeros((n_groups, *values.shape[1:]))
    np.add.at(sums, groups[taken], values[taken])
    return sums


@dataclass(frozen=True)
class _Coded:
    """Counts of the levels in each part, (parts, levels), and the parts' numbers of rows."""

    column: Column
    counts: Floats
    sizes: Floats

    @classmethod
    def of(cls, column: Column, codes: Ints, labels: Ints, sizes: Floats) -> _Coded:
        bins = len(column.levels)
        counts = np.bincount(labels * bins + codes, minlength=len(sizes) * bins)
        return cls(column, counts.reshape(len(sizes), bins).astype(np.float64), sizes)

    def among(self, groups: Ints, n_groups: int) -> Contrast:
        counts = _gather(self.counts, groups, n_groups)
        sizes = _gather(self.sizes, groups, n_groups)
        present = counts.sum(axis=1)
        here = counts / np.maximum(present, 1)[:, None]
        overall = counts.sum(axis=0) / max(float(present.sum()), 1.0)
        ratio = np.divide(here, overall, out=np.ones_like(here), where=here > 0)
        terms = here * np.log(ratio)
        # What few rows of a group have a value for says little about it.
        distance = terms.sum(axis=1) * present / np.maximum(sizes, 1)
        return _Shares(self.column, here, overall, np.argmax(terms, axis=1), distance, sizes)


@dataclass(frozen=True)
class _Shares:
    """Shares of the levels in each group (rows) and overall."""

    column: Column
    here: Floats
    overall: Floats
    level: Ints
    distance: Floats
    sizes: Floats

    def trait(self, group: int) -> Trait:
        name, levels, level = self.column.name, self.column.levels, int(self.level[group])
        distance, is_lack = float(self.distance[group]), False
        if self.column.family == "bernoulli" and levels[1] in _YES:
            is_lack = level == 0
            value = f"{name}: no" if is_lack else name
            short = f"{short_name(name)}: no" if is_lack else short_name(name)
            told, share = name, 1
        else:
            value = told = f"{name} = {levels[level]}"
            short, share = f"{short_name(name)}: {short_name(levels[level])}", level
        exact = f"{short.removesuffix(': no')} {self.here[group, share]:.0%}"
        text = f"{told}: {self.here[group, share]:.0%} ({self.overall[share]:.0%} overall)"
        if self.sizes[group] == 1:
            # Of one row there are no shares.
            text = f"{value} ({self.overall[level]:.0%} overall)"
        return Trait(text, short, distance, is_lack, exact, name)


@dataclass(frozen=True)
class _Measured:
    """Number, sum and sum of squares of the values in each part, about their centre.

    In units of the column's largest value, so that squares of any number are in range.
    """

    column: Column
    present: Floats
    sums: Floats
    squares: Floats
    centre: float
    scale: float
    sizes: Floats

    @classmethod
    def of(cls, column: Column, values: Floats, labels: Ints, sizes: Floats) -> _Measured:
        scale = float(np.abs(values).max(initial=0.0)) or 1.0
        scaled = values / scale
        centre = float(scaled.mean()) if len(values) else 0.0
        off = scaled - centre
        parts = len(sizes)
        present = np.bincount(labels, minlength=parts).astype(np.float64)
        sums = np.bincount(labels, weights=off, minlength=parts).astype(np.float64)
        squares = np.bincount(labels, weights=off * off, minlength=parts).astype(np.float64)
        return cls(column, present, sums, squares, centre, scale, sizes)

    def among(self, groups: Ints, n_groups: int) -> Contrast:
        present = _gather(self.present, groups, n_groups)
        sizes = _gather(self.sizes, groups, n_groups)
        sums, squares = (_gather(x, groups, n_groups) for x in (self.sums, self.squares))
        count = max(float(present.sum()), 1.0)
        middle = float(sums.sum()) / count
        here = np.where(present > 0, sums / np.maximum(present, 1), middle)
        spread = max(float(squares.sum()) / count - middle**2, 0.0) ** 0.5
        distance = self._distance(here + self.centre, middle + self.centre, spread)
        distance = distance * present / np.maximum(sizes, 1)
        return _Means(
            self.column,
            _plain(here + self.centre) * self.scale,
            float(_plain(np.array(middle + self.centre))) * self.scale,
            distance,
            sizes,
        )

    def _distance(self, here: Floats, overall: float, spread: float) -> Floats:
        if self.column.family in _COUNTED and overall > 0:
            here = np.maximum(here, 0.0)
            ratio = np.divide(here, overall, out=np.ones_like(here), where=here > 0)
            gain: Floats = self.scale * (here * np.log(ratio) - here + overall)
            return gain
        # Rounding leaves a column of one value some spread.
        if spread <= 1e-14:
            return np.zeros_like(here)
        normal: Floats = 0.5 * ((here - overall) / spread) ** 2
        return normal


@dataclass(frozen=True)
class _Means:
    """Means in each group and overall."""

    column: Column
    here: Floats
    overall: float
    distance: Floats
    sizes: Floats

    def trait(self, group: int) -> Trait:
        name, mean = self.column.name, float(self.here[group])
        how = "" if self.sizes[group] == 1 else " on average"
        text = f"{name}: {mean:.3g}{how} ({self.overall:.3g} overall)"
        short = f"{'high' if mean > self.overall else 'low'} {short_name(name)}"
        exact = f"{short_name(name)} = {mean:.3g}"
        is_lack = self.column.family in _COUNTED and mean < self.overall
        return Trait(text, short, float(self.distance[group]), is_lack, exact, name)


def _plain(scaled: Floats) -> Floats:
    """Make a zero of what rounding left of one."""
    return np.where(np.abs(scaled) < 1e-13, 0.0, scaled)


def short_name(name: str) -> str:
    """Shorten a long name in its middle: beginning and end tell most."""
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[:half].rstrip()}…{name[-half + 1 :].lstrip()}"


def box_words(
    columns: Mapping[str, Column], boxes: Ints, siblings: Sequence[Sequence[int]]
) -> list[str]:
    """Say what sets each box apart from all others, and from its sibling in the tree.

    Parameters
    ----------
    columns : dict of str to Column
        The table.
    boxes : array of int, shape (n,)
        The box of each row; each box has rows.
    siblings : sequence of sequences of int
        For each box those on the other side of the fork above it.

    Returns
    -------
    list of str
        Words for each box, empty where nothing sets it apart. They differ wherever the boxes do.
    """
    count = len(siblings)
    if count < 2 or not columns:
        return [""] * count
    profiles = list(_profiles(columns, boxes, count))
    every = np.arange(count)
    whole = [profile.among(every, count) for profile in profiles]
    distances = np.array([contrast.distance for contrast in whole])
    weights = np.bincount(boxes, minlength=count)
    kept = np.sort(np.argsort(-(distances @ weights), kind="stable")[:_MOST_COLUMNS]).tolist()
    names = _Names(
        profiles=[profiles[place] for place in kept],
        whole={whole[place].column.name: whole[place] for place in kept},
        words=[{} for _ in range(count)],
    )
    for box, other in enumerate(siblings):
        names.begin(box, other)
    names.tell_apart()
    return [", ".join(words.values()) for words in names.words]


@dataclass
class _Names:
    """Words under way: for each box what was chosen of which column, in order."""

    profiles: list[Profile]
    whole: dict[str, Contrast]
    words: list[dict[str, str]]

    def begin(self, box: int, sibling: Sequence[int]) -> None:
        """Choose the most telling trait, what differs from the sibling, and what else there is.

        What the box has goes before what it lacks.
        """
        ranked = _ranked(self.whole.values(), box)
        chosen = ranked[:1]
        if sibling:
            self._add_difference(box, chosen, sibling)
        taken = {trait.column for trait in chosen}
        others = [
            trait
            for trait in ranked[1:]
            if trait.distance > ranked[0].distance / 3 and trait.column not in taken
        ][: _MOST_WORDS - len(chosen)]
        for trait in [*chosen[:1], *sorted([*chosen[1:], *others], key=lambda t: t.is_lack)]:
            self.words[box].setdefault(trait.column, trait.short)

    def _add_difference(self, box: int, chosen: list[Trait], sibling: Sequence[int]) -> None:
        groups = np.full(len(self.words), -1)
        groups[box], groups[list(sibling)] = 0, 1
        for trait in _ranked([profile.among(groups, 2) for profile in self.profiles], 0)[:1]:
            told = self._consistent(box, trait)
            same = [first for first in chosen if first.column == trait.column]
            if same and told.short != same[0].short:
                chosen[chosen.index(same[0])] = told
            elif not same:
                chosen.append(told)

    def _consistent(self, box: int, trait: Trait) -> Trait:
        """Say the value where "high" beside some boxes is "low" in the whole table, or even."""
        overall = self.whole[trait.column].trait(box)
        agrees = overall.short == trait.short and overall.distance > _LEAST
        return trait if agrees else replace(trait, short=overall.exact, is_lack=False)

    def tell_apart(self) -> None:
        """Add what differs wherever boxes share their words, and values where words do not do."""
        for _ in range(_MOST_ROUNDS):
            shared = self._shared()
            if not shared:
                return
            for group in shared:
                self._tell_apart(group)
        for group in self._shared():
            self._give_values(group)

    def _shared(self) -> list[list[int]]:
        by_words: dict[str, list[int]] = {}
        for box, words in enumerate(self.words):
            by_words.setdefault(", ".join(words.values()), []).append(box)
        return [group for group in by_words.values() if len(group) > 1]

    def _among(self, group: Sequence[int]) -> list[Contrast]:
        groups = np.full(len(self.words), -1)
        groups[list(group)] = np.arange(len(group))
        return [profile.among(groups, len(group)) for profile in self.profiles]

    def _tell_apart(self, group: Sequence[int]) -> None:
        contrasts = self._among(group)
        for place, box in enumerate(group):
            for trait in _ranked(contrasts, place, least=1e-9):
                told = self._consistent(box, trait).short
                if trait.column not in self.words[box]:
                    self.words[box][trait.column] = told
                    break

    def _give_values(self, group: Sequence[int]) -> None:
        contrasts = self._among(group)
        most = max(contrasts, key=lambda contrast: float(contrast.distance.max()))
        if most.distance.max() <= 1e-9:
            return
        for place, box in enumerate(group):
            trait = most.trait(place)
            self.words[box][trait.column] = trait.exact


def _ranked(contrasts: Iterable[Contrast], group: int, least: float = _LEAST) -> list[Trait]:
    """List the traits of a group, the most telling first."""
    far = sorted(contrasts, key=lambda contrast: -float(contrast.distance[group]))
    return [contrast.trait(group) for contrast in far if contrast.distance[group] > least]
