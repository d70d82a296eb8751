"""The tables that ship with the package."""

from collections import Counter

from bhclust.datasets import load_zoo


def test_zoo():
    zoo = load_zoo()
    assert zoo.n_rows == 101
    assert len(zoo.names) == len(set(zoo.names)) == 101
    assert Counter(column.family for column in zoo.columns.values()) == {
        "bernoulli": 15,
        "categorical": 1,
    }
    assert zoo.columns["legs"].levels == ("0", "2", "4", "5", "6", "8")
    assert zoo.columns["legs"].why.startswith("few different whole numbers, some left out")
    assert sum(column.n_missing for column in zoo.columns.values()) == 0
    assert sorted(Counter(zoo.target).values()) == [4, 5, 8, 10, 13, 20, 41]
    assert zoo.notes == ()


def test_zoo_knows_its_animals():
    zoo = load_zoo()
    octopus = zoo.names.index("octopus")
    legs = zoo.columns["legs"]
    assert legs.levels[int(legs.values[octopus])] == "8"
    assert zoo.columns["milk"].values[zoo.names.index("platypus")] == 1
    assert zoo.target[zoo.names.index("platypus")] == "mammal"
