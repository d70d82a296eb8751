"""What is told about a clustering, against values worked out by hand or the slow way."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bhclust import _describe, _page, _traits
from bhclust.io import Column, Table


def column(name, family, values, levels=()):
    return Column(name, family, np.array(values, dtype=float), tuple(levels), "")


def told(columns, labels):
    return _traits.traits({c.name: c for c in columns}, np.array(labels, dtype=np.int64))


class TestTraits:
    def test_shares_of_bits(self):
        milk = column("milk", "bernoulli", [1, 1, 1, 0, 0, 0, 0, 0], ("0", "1"))
        first, second = told([milk], [0, 0, 0, 0, 1, 1, 1, 1])
        assert first[0].text == "milk: 75% (38% overall)"
        assert first[0].short == "milk"
        assert second[0].text == "milk: 0% (38% overall)"
        assert second[0].short == "milk: no"
        assert second[0].distance == pytest.approx(np.log(1 / (5 / 8)))

    def test_levels(self):
        legs = column("legs", "categorical", [0, 0, 1, 2, 2, 2], ("0", "4", "six"))
        first, second = told([legs], [0, 0, 0, 1, 1, 1])
        assert first[0].text == "legs = 0: 67% (33% overall)"
        assert second[0].text == "legs = six: 100% (50% overall)"
        assert second[0].short == "legs: six"

    def test_two_texts_are_not_yes_and_no(self):
        sex = column("sex", "bernoulli", [0, 0, 1, 1], ("f", "m"))
        assert told([sex], [0, 0, 1, 1])[1][0].text == "sex = m: 100% (50% overall)"

    @pytest.mark.parametrize(
        ("family", "scale"),
        [("poisson", 1.0), ("gaussian-diag", 1.0), ("gaussian-diag", 1e-30), ("exponential", 1e30)],
    )
    def test_means(self, family, scale):
        values = scale * np.array([0.0, 0.0, 4.0, 8.0])
        first, second = told([column("x", family, values)], [0, 0, 1, 1])
        assert second[0].text == f"x: {6 * scale:.3g} on average ({3 * scale:.3g} overall)"
        assert (first[0].short, second[0].short) == ("low x", "high x")
        if family != "poisson":
            assert second[0].distance == pytest.approx(0.5 * 9 / 11)
        else:
            assert second[0].distance == pytest.approx(scale * (6 * np.log(2) - 3))

    def test_most_telling_first_and_missing_values_left_out(self):
        clear = column("clear", "bernoulli", [1, 1, np.nan, 0, 0, 0], ("0", "1"))
        weak = column("weak", "bernoulli", [1, 0, 1, 0, 0, 1], ("0", "1"))
        same = column("same", "gaussian-diag", [1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
        first, _ = told([weak, same, clear], [0, 0, 0, 1, 1, 1])
        assert [trait.short for trait in first] == ["clear", "weak"]
        assert first[0].text == "clear: 100% (40% overall)"

    def test_a_column_counts_as_far_as_it_is_filled(self):
        rare = column("rare", "bernoulli", [1, *[np.nan] * 4, 0, 0, 0, 0, 0], ("0", "1"))
        usual = column("usual", "bernoulli", [1, 1, 1, 1, 1, 0, 0, 0, 0, 0], ("0", "1"))
        first, _ = told([rare, usual], [0] * 5 + [1] * 5)
        assert [trait.short for trait in first] == ["usual", "rare"]
        assert first[1].distance == pytest.approx(np.log(6) / 5)

    def test_one_cluster_is_set_apart_by_nothing(self):
        assert told([column("x", "bernoulli", [0, 1], ("0", "1"))], [0, 0]) == [[]]

    def test_a_cluster_without_values(self):
        x = column("x", "gaussian-diag", [np.nan, np.nan, 1.0, 2.0])
        assert told([x], [0, 0, 1, 1])[0] == []


def test_certainty_is_the_mean_chance_over_the_mates():
    children = np.array([(0, 1), (5, 2), (3, 6), (7, 4)])
    tree = SimpleNamespace(
        n_leaves=5,
        n_nodes=9,
        children=children,
        parent=np.array([5, 5, 6, 7, 8, 6, 7, 8, -1]),
        size=np.array([1, 1, 1, 1, 1, 2, 3, 4, 5]),
        roots=np.array([8]),
    )
    together = np.array([1, 1, 1, 1, 1, 0.9, 0.7, 0.2, 0.1])
    omega = np.array([0.0, 0.0, 0.0, 0.6, 0.8, 0, 0, 0, 0])
    post = SimpleNamespace(tree=tree, height=1 - together, omega=omega)
    found = _describe.certainty(post, np.array([0, 0, 0, 1, 2]))
    assert found == pytest.approx([(0.9 + 0.7) / 2, (0.9 + 0.7) / 2, 0.7, 0.6, 0.8])
    whole = _describe.certainty(post, np.zeros(5, dtype=np.int64))
    assert whole[3] == pytest.approx((3 * 0.2 + 0.1) / 4)
    assert whole[4] == pytest.approx(0.1)


def findings(labels, target=None):
    n = len(labels)
    values = np.arange(n) / 7
    x = Column("x", "gaussian-diag", values, (), "numbers with decimals")
    table = Table("t.csv", n, {"x": x}, {"id": "names of the rows"}, None, target, ("a note",))
    found = np.array(labels, dtype=np.int64)
    told_traits = _traits.traits(table.columns, found)
    return _describe.Findings(table, found, np.full(n, 0.9), -12.5, told_traits, "rows")


def test_summary_tells_all_or_the_largest():
    labels = [0, 1, 1, 2, 3, 3, 3]
    whole = _describe.summary(findings(labels))
    assert [f"cluster {label}:" in whole for label in range(4)] == [True] * 4
    short = _describe.summary(findings(labels), most=2)
    assert [f"cluster {label}:" in short for label in range(4)] == [False, True, False, True]
    assert "and 2 more clusters that are no larger: see summary.txt" in short
    assert "4 clusters in 7 rows\nlog evidence -12.50\n" in short
    assert "cluster 3: 3 rows, certainty 90%" in short


def test_summary_compares_with_known_classes():
    told = _describe.summary(findings([0, 0, 1, 1], ["a", "a", "b", ""]))
    assert "adjusted Rand index with the known classes of 3 rows that have one 1.00" in told
    assert "1 b, 1 unknown" in told
    whole = _describe.summary(findings([0, 0, 1, 1], ["a", "a", "b", "a"]))
    assert "adjusted Rand index with the known classes 0.00 (1 same, 0 chance)" in whole
    # With one class there is nothing to agree or disagree on.
    assert "Rand" not in _describe.summary(findings([0, 1, 1], ["a", "", "a"]))


def test_columns_in_words():
    told = _describe.columns_in_words(findings([0, 1]).table)
    assert told.splitlines()[:2] == ["t.csv: 2 rows", "  note: a note"]
    assert "measurements (gaussian-diag)" in told
    assert "x (numbers with decimals)" in told
    assert "id (names of the rows)" in told


def test_a_column_that_may_be_the_classes_is_pointed_out():
    table = findings([0, 1]).table
    renamed = replace(table, columns={"Species": replace(table.columns["x"], name="Species")})
    assert "say --target 'Species'" in _describe.columns_in_words(renamed)
    assert "--target" not in _describe.columns_in_words(replace(renamed, target=["a", "b"]))


def test_many_columns_are_told_shortly():
    table = findings([0, 1]).table
    many = {f"c{i}": replace(table.columns["x"], name=f"c{i}") for i in range(500)}
    told = _describe.columns_in_words(replace(table, columns=many))
    assert "and 480 more" in told
    assert len(told) < 1000


def test_known_classes_in_words():
    told = _page.mixture_in_words
    assert told(Counter(["fish", "fish", "bird"])) == "2 fish, 1 bird"
    assert told(Counter(["fish", "fish"])) == "all fish"
    assert told(Counter(["0", "1", "1"])) == "2 of class 1, 1 of class 0"
    assert told(Counter(["1", "1"])) == "all class 1"
    assert told(Counter(["1"])) == "class 1"


def test_known_classes_in_ever_fewer_words():
    told = _page.mixtures_in_words
    assert told(Counter({"fish": 3})) == ["all fish"]
    assert told(Counter({"fish": 3, "bird": 1})) == ["3 fish, 1 bird", "75% fish"]
    assert told(Counter({"7": 6, "a": 2, "b": 2})) == [
        "6 of class 7, 2 a, 2 b",
        "6 of class 7, 4 of 2 others",
        "60% class 7",
    ]


def test_numbers_in_words():
    told = _page.numbers_in_words
    assert told([3]) == "3"
    assert told([9, 3, 8, 7]) == "3, 7\u20139"
    assert told([4, 5]) == "4, 5"
    assert told([0, 2, 4, 6], 2) == "0, 2, …"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0], "there is one row, so it is certain"),
        ([0, 1], "Certainty is the chance that a row stands alone."),
        ([0, 0], "Certainty is the mean chance that two rows belong together."),
        ([0, 0, 1, 1], "Certainty is the mean chance that two rows of a cluster belong together."),
        ([0, 0, 1], "belong together; for a cluster of one row, the chance that it stands alone."),
    ],
)
def test_certainty_in_words(labels, said):
    assert said in _describe.certainty_in_words(np.array(labels), "rows")
    whole = _describe.summary(findings(labels))
    assert said in whole


def test_summary_of_two_rows_and_of_all_alone():
    assert "1 cluster in 2 rows" in _describe.summary(findings([0, 0]))
    assert "set apart by" not in _describe.summary(findings([0, 0]))
    alone = _describe.summary(findings([0, 1, 2]), most=1)
    assert "and 2 more clusters that are no larger" in alone
    assert "cluster 0: 1 row, certainty" in alone


def words(columns, boxes, siblings):
    table = {c.name: c for c in columns}
    return _traits.box_words(table, np.array(boxes, dtype=np.int64), siblings)


class TestBoxWords:
    def test_no_box_or_column_to_tell_apart(self):
        x = column("x", "gaussian-diag", [1, 2])
        assert words([x], [0, 0], [[]]) == [""]
        assert words([], [0, 1], [[1], [0]]) == ["", ""]
        same = column("same", "bernoulli", [1, 1, 1, 1], ("0", "1"))
        assert words([same], [0, 0, 1, 1], [[1], [0]]) == ["", ""]

    def test_what_a_box_has_goes_before_what_it_lacks(self):
        a = column("a", "bernoulli", [0, 0, 0, 1, 1, 1], ("0", "1"))
        b = column("b", "bernoulli", [1, 1, 1, 0, 0, 0], ("0", "1"))
        c = column("c", "bernoulli", [0, 0, 0, 1, 1, 0], ("0", "1"))
        assert words([a, c, b], [0, 0, 0, 1, 1, 1], [[], []])[0] == "a: no, b, c: no"

    def test_siblings_are_told_apart_first(self):
        kind = column("kind", "categorical", [0] * 8 + [1] * 8, ("p", "q"))
        more = [column(f"m{i}", "bernoulli", [1] * 8 + [0] * 8, ("0", "1")) for i in range(5)]
        rare = column("rare", "bernoulli", [1, 1, 1, 0, 0, 0, 0, 0] + [0] * 8, ("0", "1"))
        boxes = [0, 0, 0, 0, 1, 1, 1, 1, *[2] * 8]
        told = words([kind, *more, rare], boxes, [[1], [0], [0, 1]])
        assert "rare" in told[0].split(", ")
        assert "rare: no" in told[1]

    def test_equal_words_are_told_apart_by_values(self):
        x = column("x", "gaussian-diag", [9.0, 9.1, 8.0, 8.1, 0.0, 0.1, 0.0, 0.1])
        told = words([x], [0, 0, 1, 1, 2, 2, 2, 2], [[], [], []])
        assert len(set(told)) == 3
        assert told[2] == "low x"
        assert "x = 9.05" in told[0]

    def test_boxes_that_differ_have_words_that_differ(self):
        rng = np.random.default_rng(3)
        boxes = np.repeat(np.arange(24), 5)
        table = [
            column(f"p{j}", "poisson", rng.poisson(rng.choice([2, 9], 24)[boxes])) for j in range(6)
        ]
        siblings = [[box ^ 1] for box in range(24)]
        told = words(table, boxes, siblings)
        assert len(set(told)) == 24
        assert all(told)

    def test_high_and_low_are_meant_of_the_whole_table(self):
        x = column("x", "gaussian-diag", [9.0, 9.0, 8.0, 8.0, *[0.0] * 12])
        told = words([x], [0, 0, 1, 1, *[2] * 12], [[1], [0], [0, 1]])
        assert "low" not in told[1]

    def test_long_names_are_shortened_in_the_middle(self):
        name = "the mean temperature of the sea at noon (degrees)"
        x = column(name, "gaussian-diag", [0.0, 0.0, 5.0, 5.0])
        told = words([x], [0, 0, 1, 1], [[1], [0]])[1]
        assert told == "high the mean temper…noon (degrees)"


def test_words_of_a_table_shares_of_rows():
    long = column("a", "multinomial", [10, 10, 1, 1])
    other = column("b", "multinomial", [10, 10, 1, 1])
    assert told([long, other], [0, 0, 1, 1]) == [[], []]


def test_one_row_has_no_shares():
    milk = column("milk", "bernoulli", [1, 0, 0, 0], ("0", "1"))
    legs = column("legs", "categorical", [0, 1, 1, 2], ("0", "4", "6"))
    x = column("x", "gaussian-diag", [5.0, 0.0, 0.0, 3.0])
    first, _, third = told([milk, legs, x], [0, 1, 1, 2])
    assert {t.text for t in first} == {
        "milk (25% overall)",
        "legs = 0 (25% overall)",
        "x: 5 (2 overall)",
    }
    assert "milk: no (75% overall)" in {t.text for t in third}


def test_a_mean_of_zero_is_written_as_zero():
    x = column("x", "gaussian-diag", [0.1, 0.2, 0.3, 0.7, 0.0, 0.0, 0.0, 0.0])
    assert told([x], [0, 0, 0, 0, 1, 1, 1, 1])[1][0].text.startswith("x: 0 on average")
