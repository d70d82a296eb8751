"""The hurdle: a spike at zero as a column of its own."""

from __future__ import annotations

import numpy as np
import pytest

import bhclust
from bhclust.hurdles import has_spike, split_column


def rain() -> np.ndarray:
    rng = np.random.default_rng(0)
    amounts = np.where(rng.random(60) < 0.4, 0.0, rng.lognormal(size=60))
    amounts[3] = np.nan
    return np.column_stack([amounts, rng.normal(size=60)])


def test_a_split_column_is_two() -> None:
    bit, value = split_column(np.array([0.0, -0.0, 2.0, np.nan, -1.5]))
    np.testing.assert_array_equal(bit, [0, 0, 1, np.nan, 1])
    np.testing.assert_array_equal(value, [np.nan, np.nan, 2, np.nan, -1.5])


def test_the_evidence_is_the_blocks() -> None:
    X = rain()
    table, family = bhclust.hurdle(X)
    assert table.shape == (60, 3)
    assert isinstance(family, bhclust.Product)
    (reals, real_columns), (bits, bit_columns) = family.blocks
    assert list(real_columns) == [0, 1]
    assert list(bit_columns) == [2]
    tree = bhclust.bhc(table, family)
    whole = bhclust.posterior(tree, table, family)
    parts = [
        bhclust.posterior(tree, table[:, :2], reals).log_marginal,
        bhclust.posterior(tree, table[:, 2:], bits).log_marginal,
    ]
    np.testing.assert_allclose(whole.log_marginal, parts[0] + parts[1], rtol=1e-12)


def test_where_zero_stands_out() -> None:
    X = rain()
    assert has_spike(X[:, 0])
    assert not has_spike(X[:, 1])
    assert not has_spike(np.zeros(10))
    assert not has_spike(np.repeat([0.0, 1.0], 10))
    assert not has_spike(np.repeat([0.0, 1.0, 2.0], 10))
    assert not has_spike(np.r_[0.0, 0.0, np.arange(1.0, 9.0)])
    assert not has_spike(np.r_[np.zeros(4), np.arange(1.0, 200.0)])
    assert not has_spike(np.full(5, np.nan))


def test_columns_may_be_named() -> None:
    X = rain()
    table, _ = bhclust.hurdle(X, columns=[1], family="gaussian-spherical")
    assert not np.isnan(table[:, 1]).any()
    np.testing.assert_array_equal(table[:, 2], np.ones(60))


def test_zero_and_the_rest_come_apart() -> None:
    """A plain Gaussian buys evidence with clusters of zeros; the hurdle finds the two groups."""
    rng = np.random.default_rng(2)
    group = np.repeat([0, 1], 60)
    active = rng.random((120, 6)) < np.where(group == 1, 0.8, 0.3)[:, None]
    X = np.where(active, rng.normal(np.where(group == 1, 4.0, 2.0)[:, None], 0.7, (120, 6)), 0.0)
    split = bhclust.learn(*bhclust.hurdle(X)).posterior.cut(n_clusters=2)
    plain = bhclust.learn(X, "gaussian-diag").posterior.cut(n_clusters=2)
    agreement = bhclust.metrics.adjusted_rand_index
    assert agreement(split, group) > 0.8
    assert agreement(split, group) > agreement(plain, group)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([2], ValueError, "columns names column 2, and X has columns 0 to 1"),
        ([0, 0], ValueError, "columns names a column twice"),
        (["a"], TypeError, "columns must be a whole number"),
        ([-1], ValueError, "columns is -1"),
    ],
)
def test_refusals(columns: list[object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bhclust.hurdle(rain(), columns=columns)  # type: ignore[arg-type]


def test_sparse_tables_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="X is sparse; a hurdle needs a dense table"):
        bhclust.hurdle(sparse.csr_matrix(np.eye(3)))


def test_columns_by_name_and_refusals() -> None:
    pandas = pytest.importorskip("pandas")
    X = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
    frame = pandas.DataFrame(X, columns=["rain", "wind"])
    by_name, family = bhclust.hurdle(frame, columns=["rain"])
    by_number, same = bhclust.hurdle(X, columns=[0])
    np.testing.assert_array_equal(by_name, by_number)
    assert family == same
    with pytest.raises(ValueError, match=r"columns names column 'snow', and X has \['rain', 'w"):
        bhclust.hurdle(frame, columns=["snow"])
    for wrong in (1, "rain", None.__class__):
        with pytest.raises(TypeError, match=r"columns must be a sequence of columns, not"):
            bhclust.hurdle(frame, columns=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"family is 'gaussian', which takes no missing cells"):
        bhclust.hurdle(X, columns=[0], family="gaussian")
    assert bhclust.hurdle(X, columns=[], family="gaussian")[0].shape == X.shape
