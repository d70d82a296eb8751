"""
The compiled core of bhclust.
"""

from __future__ import annotations
import bhclust.statistics
import collections.abc
import numpy
import numpy.typing
import typing

__all__: list[str] = [
    "BernoulliBeta",
    "CategoricalDirichlet",
    "ExponentialGamma",
    "Family",
    "GaussianProcess",
    "GeometricBeta",
    "MultinomialDirichlet",
    "NegativeBinomialBeta",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "PoissonGamma",
    "Product",
    "Relocations",
    "Table",
    "Tree",
    "TreePosterior",
    "VonMisesFisher",
    "all_threads",
    "bayes_kmeans_bhc",
    "bayes_kmeans_groups",
    "best_nodes_at_count",
    "binder_nodes",
    "byte_size",
    "cluster_of_nodes",
    "coclustering",
    "coclustering_pairs",
    "compiler",
    "curve",
    "dendrogram_purity",
    "exact_log_evidence",
    "explain",
    "forget",
    "gradient_of_evidence",
    "greedy_bhc",
    "impute",
    "impute_levels",
    "insert",
    "instruction_set",
    "labels_by_posterior",
    "labels_of",
    "linkage_heights",
    "log_cluster_count",
    "log_evidence_bound",
    "log_predictive",
    "log_responsibilities",
    "machine_memory",
    "map_nodes",
    "nodes_at_count",
    "nodes_by_probability",
    "path_entropy",
    "posterior",
    "randomized_bhc",
    "refine",
    "relaxed_bhc",
    "relocate",
    "relocated_tree",
    "sample_partitions",
    "sample_rows",
    "separation",
]

class Table:
    """
    Rows of float64 cells that the core reads in place (see bhclust.table).
    """
    @staticmethod
    def csr(
        data: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        indices: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        indptr: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> Table:
        """
        Canonical CSR arrays: float64 data, int64 indices and indptr.
        """
    @staticmethod
    def dense(cells: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> Table:
        """
        A C-contiguous float64 array of shape (rows, columns); others are copied.
        """
    @staticmethod
    def groups(
        values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> Table:
        """
        Groups of rows of so many columns: their statistics (see bhclust.statistics), and how many rows each has.
        """
    def copied(self, n_threads: typing.SupportsInt | typing.SupportsIndex = 0) -> Table:
        """
        This dense table with cells of its own, which nobody writes to.
        """
    @property
    def arrays(self) -> typing.Any: ...
    @property
    def is_grouped(self) -> bool: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def total_weight(self) -> int: ...

class Family:
    """
    A likelihood with its conjugate prior; the value is the hyperparameters.
    """
    def _aggregate(
        self,
        table: Table,
        labels: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        n_groups: typing.SupportsInt | typing.SupportsIndex,
        repeats: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    ) -> tuple[typing.Any, ...]: ...
    def _check(self, table: Table) -> None: ...
    def _log_marginal(self, table: Table) -> float: ...
    def _mean_divergence(self, table: Table) -> float: ...
    def _width(self, columns: typing.SupportsInt | typing.SupportsIndex) -> int: ...
    def statistics(
        self, X: typing.Any, groups: typing.Any = None, *, weights: typing.Any = None
    ) -> bhclust.statistics.Statistics:
        """
        Sufficient statistics of groups of rows, which every algorithm takes in place of the rows.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        groups : array of int, shape (n_rows,), optional
            The group of each row, from 0 without gaps; None: each row is one of its own.
        weights : array of int, shape (n_rows,), optional
            How often each row was seen, at least once; None: once.

        Returns
        -------
        Statistics
        """
    @property
    def _relaxable(self) -> bool: ...
    @property
    def name(self) -> str:
        """
        The name of the class.
        """

class NormalInverseWishart(Family):
    """
    Real rows with correlated columns: Normal with a Normal-inverse-Wishart prior: mean ~ Normal(mean, covariance / kappa), covariance ~ InverseWishart(nu, psi). psi is a scalar (times the identity), a diagonal, or a full matrix; nu must exceed the number of columns less one. Takes no missing cells.

    Parameters
    ----------
    mean : float or array of shape (n_columns,)
        prior mean of the clusters' means; finite.
    kappa : float
        how many rows the prior mean is worth; finite and above 0.
    nu : float
        degrees of freedom: how many rows the prior covariance is worth; above columns - 1; finite and above 0.
    psi : float or array of shape (n_columns,) or (n_columns, n_columns)
        prior scale matrix: psi / nu is a typical covariance within a cluster; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = False
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> NormalInverseWishart:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        mean: float | numpy.typing.ArrayLike = 0.0,
        kappa: float | numpy.typing.ArrayLike = 1.0,
        nu: float | numpy.typing.ArrayLike = 3.0,
        psi: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def kappa(self) -> float | numpy.typing.ArrayLike:
        """
        how many rows the prior mean is worth
        """
    @property
    def mean(self) -> float | numpy.typing.ArrayLike:
        """
        prior mean of the clusters' means
        """
    @property
    def nu(self) -> float | numpy.typing.ArrayLike:
        """
        degrees of freedom: how many rows the prior covariance is worth; above columns - 1
        """
    @property
    def psi(self) -> float | numpy.typing.ArrayLike:
        """
        prior scale matrix: psi / nu is a typical covariance within a cluster
        """

class NormalInverseGamma(Family):
    """
    Real numbers in independent columns: Normal with a Normal-inverse-gamma prior on each column's mean and variance: mean ~ Normal(mean, variance / kappa), variance ~ InverseGamma(a, b). Missing cells are NaN.

    Parameters
    ----------
    mean : float or array of shape (n_columns,)
        prior mean of the clusters' means; finite.
    kappa : float or array of shape (n_columns,)
        how many rows the prior mean is worth; finite and above 0.
    a : float or array of shape (n_columns,)
        prior shape of the variances: half the number of rows the prior is worth; finite and above 0.
    b : float or array of shape (n_columns,)
        prior scale of the variances: b / a is a typical variance within a cluster; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> NormalInverseGamma:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        mean: float | numpy.typing.ArrayLike = 0.0,
        kappa: float | numpy.typing.ArrayLike = 1.0,
        a: float | numpy.typing.ArrayLike = 1.0,
        b: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def a(self) -> float | numpy.typing.ArrayLike:
        """
        prior shape of the variances: half the number of rows the prior is worth
        """
    @property
    def b(self) -> float | numpy.typing.ArrayLike:
        """
        prior scale of the variances: b / a is a typical variance within a cluster
        """
    @property
    def kappa(self) -> float | numpy.typing.ArrayLike:
        """
        how many rows the prior mean is worth
        """
    @property
    def mean(self) -> float | numpy.typing.ArrayLike:
        """
        prior mean of the clusters' means
        """

class NormalKnownVariance(Family):
    """
    Real numbers in independent columns: Normal with the given variance within clusters and a Normal(mean, prior_variance) prior on each column's cluster mean. Missing cells are NaN. RBHC with this family is Ward's method on columns divided by the standard deviation.

    Parameters
    ----------
    variance : float or array of shape (n_columns,)
        variance of a column within a cluster; finite and above 0.
    mean : float or array of shape (n_columns,)
        prior mean of the clusters' means; finite.
    prior_variance : float or array of shape (n_columns,)
        prior variance of the clusters' means; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> NormalKnownVariance:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        variance: float | numpy.typing.ArrayLike = 1.0,
        mean: float | numpy.typing.ArrayLike = 0.0,
        prior_variance: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def mean(self) -> float | numpy.typing.ArrayLike:
        """
        prior mean of the clusters' means
        """
    @property
    def prior_variance(self) -> float | numpy.typing.ArrayLike:
        """
        prior variance of the clusters' means
        """
    @property
    def variance(self) -> float | numpy.typing.ArrayLike:
        """
        variance of a column within a cluster
        """

class BernoulliBeta(Family):
    """
    Bits 0 or 1 in independent columns: Bernoulli with a Beta(a, b) prior on each column's probability of a one. Tables may have missing cells (NaN).

    Parameters
    ----------
    a : float or array of shape (n_columns,)
        prior number of ones seen; finite and above 0.
    b : float or array of shape (n_columns,)
        prior number of zeros seen; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> BernoulliBeta:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self, *, a: float | numpy.typing.ArrayLike = 1.0, b: float | numpy.typing.ArrayLike = 1.0
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def a(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of ones seen
        """
    @property
    def b(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of zeros seen
        """

class CategoricalDirichlet(Family):
    """
    Categories in independent columns, given as codes 0, 1, ..., levels - 1: a symmetric Dirichlet(concentration) prior on each column's probabilities. Codes that do not occur are fine. Tables may have missing cells (NaN).

    Parameters
    ----------
    concentration : float or array of shape (n_columns,)
        prior number of times each level was seen; finite and above 0.
    levels : float or array of shape (n_columns,)
        number of levels of the columns; a whole number of at least 1.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> CategoricalDirichlet:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        concentration: float | numpy.typing.ArrayLike = 1.0,
        levels: float | numpy.typing.ArrayLike = 0.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def concentration(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of times each level was seen
        """
    @property
    def levels(self) -> float | numpy.typing.ArrayLike:
        """
        number of levels of the columns
        """

class MultinomialDirichlet(Family):
    """
    Rows of counts (words in documents, reads in samples) given their totals: multinomial with a Dirichlet(concentration) prior on the probabilities of the columns. Dense or CSR tables; rows of zeros carry no information and are taken.

    Parameters
    ----------
    concentration : float or array of shape (n_columns,)
        prior number of counts seen in each column; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = False
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> MultinomialDirichlet:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(self, *, concentration: float | numpy.typing.ArrayLike = 1.0) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def concentration(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of counts seen in each column
        """

class PoissonGamma(Family):
    """
    Counts 0, 1, 2, ... in independent columns: Poisson with a Gamma(shape, rate) prior on each column's rate. Dense tables may have missing cells (NaN); CSR tables are taken as they are.

    Parameters
    ----------
    shape : float or array of shape (n_columns,)
        prior shape of the rates; finite and above 0.
    rate : float or array of shape (n_columns,)
        prior rate (inverse scale) of the rates; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> PoissonGamma:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        shape: float | numpy.typing.ArrayLike = 1.0,
        rate: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def rate(self) -> float | numpy.typing.ArrayLike:
        """
        prior rate (inverse scale) of the rates
        """
    @property
    def shape(self) -> float | numpy.typing.ArrayLike:
        """
        prior shape of the rates
        """

class ExponentialGamma(Family):
    """
    Positive reals (waiting times, sizes) in independent columns: exponential with a Gamma(shape, rate) prior on each column's rate. Tables may have missing cells (NaN).

    Parameters
    ----------
    shape : float or array of shape (n_columns,)
        prior shape of the rates; finite and above 0.
    rate : float or array of shape (n_columns,)
        prior rate of the rates, in units of the data; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> ExponentialGamma:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        shape: float | numpy.typing.ArrayLike = 1.0,
        rate: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def rate(self) -> float | numpy.typing.ArrayLike:
        """
        prior rate of the rates, in units of the data
        """
    @property
    def shape(self) -> float | numpy.typing.ArrayLike:
        """
        prior shape of the rates
        """

class GeometricBeta(Family):
    """
    Counts 0, 1, 2, ... in independent columns: geometric (failures before the first success) with a Beta(a, b) prior on each column's p; the mean is (1 - p) / p. Dense tables may have missing cells (NaN); CSR tables are taken as they are.

    Parameters
    ----------
    a : float or array of shape (n_columns,)
        prior number of successes seen; finite and above 0.
    b : float or array of shape (n_columns,)
        prior sum of the counts seen; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> GeometricBeta:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self, *, a: float | numpy.typing.ArrayLike = 1.0, b: float | numpy.typing.ArrayLike = 1.0
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def a(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of successes seen
        """
    @property
    def b(self) -> float | numpy.typing.ArrayLike:
        """
        prior sum of the counts seen
        """

class NegativeBinomialBeta(Family):
    """
    Counts 0, 1, 2, ... that spread more than Poisson, in independent columns: negative binomial with r known and a Beta(a, b) prior on each column's p; the mean is r (1 - p) / p. Dense tables may have missing cells (NaN); CSR tables are taken as they are.

    Parameters
    ----------
    r : float or array of shape (n_columns,)
        number of successes, known; small r means much spread; finite and above 0.
    a : float or array of shape (n_columns,)
        prior number of successes seen; finite and above 0.
    b : float or array of shape (n_columns,)
        prior sum of the counts seen; finite and above 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> NegativeBinomialBeta:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        r: float | numpy.typing.ArrayLike = 1.0,
        a: float | numpy.typing.ArrayLike = 1.0,
        b: float | numpy.typing.ArrayLike = 1.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def a(self) -> float | numpy.typing.ArrayLike:
        """
        prior number of successes seen
        """
    @property
    def b(self) -> float | numpy.typing.ArrayLike:
        """
        prior sum of the counts seen
        """
    @property
    def r(self) -> float | numpy.typing.ArrayLike:
        """
        number of successes, known; small r means much spread
        """

class VonMisesFisher(Family):
    """
    Directions: rows of length 1 (embeddings, normalised profiles), dense or CSR. Von Mises-Fisher with known concentration kappa; the mean direction is uniform on the sphere (prior_kappa = 0), or von Mises-Fisher about mean_direction.

    Parameters
    ----------
    kappa : float
        concentration of the rows about their cluster's mean direction; finite and above 0.
    mean_direction : float or array of shape (n_columns,)
        prior mean direction, of length 1; 0 if there is none; finite.
    prior_kappa : float
        concentration of the clusters' mean directions; 0 is uniform; finite and at least 0.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = False
    _takes_sparse: typing.ClassVar[bool] = True
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(X: typing.Any) -> VonMisesFisher:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        kappa: float | numpy.typing.ArrayLike = 1.0,
        mean_direction: float | numpy.typing.ArrayLike = 0.0,
        prior_kappa: float | numpy.typing.ArrayLike = 0.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def kappa(self) -> float | numpy.typing.ArrayLike:
        """
        concentration of the rows about their cluster's mean direction
        """
    @property
    def mean_direction(self) -> float | numpy.typing.ArrayLike:
        """
        prior mean direction, of length 1; 0 if there is none
        """
    @property
    def prior_kappa(self) -> float | numpy.typing.ArrayLike:
        """
        concentration of the clusters' mean directions; 0 is uniform
        """

class GaussianProcess(Family):
    """
    Time series, one a row: the rows of a cluster are one smooth curve plus independent Normal noise, the curve a Gaussian process: Normal(mean, amplitude * kernel). Times may be unequally spaced, and columns at the same time are repeated measurements of it. Missing cells are NaN. amplitude and noise are variances; with one column this is NormalKnownVariance. Noise with heavier tails would not be conjugate and is not offered: screen rows for single wild values, or make those missing. RBHC with this family is Ward's method. Curves of clusters with bands: `bhclust.curves`.

    With r the distance of two times divided by length_scale, 'squared-exponential' is exp(-r^2 / 2), 'matern32' (1 + sqrt(3) r) exp(-sqrt(3) r), 'matern52' (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r). 'cubic-spline' is white noise integrated twice, from the middle of the times both ways, with a Normal level and slope there: 1 + u v + min^2 (3 max - min) / 6 with u and v the times counted from the middle in units of length_scale, min and max of their magnitudes; the last term is there where u and v have the same sign.

    Parameters
    ----------
    times : float or array of shape (n_columns,)
        time of each column; a scalar is the distance of equally spaced times; finite.
    kernel : str
        covariance of a curve at two times; one of 'squared-exponential', 'matern32', 'matern52', 'cubic-spline'.
    length_scale : float
        distance of times over which a curve changes; finite and above 0.
    amplitude : float
        prior variance of the clusters' curves; finite and above 0.
    noise : float
        variance of a cell about its cluster's curve; finite and above 0.
    mean : float or array of shape (n_columns,)
        prior mean of the curves; finite.
    """

    __hash__: typing.ClassVar[None] = None
    _takes_missing: typing.ClassVar[bool] = True
    _takes_sparse: typing.ClassVar[bool] = False
    @staticmethod
    def _gradient_sizes(
        columns: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict[str, typing.Any]: ...
    @staticmethod
    def from_data(
        X: typing.Any, *, times: typing.Any = None, kernel: typing.Any = None
    ) -> GaussianProcess:
        """
        Weak hyperparameters on the scale of the data; valid for any table the family takes. times: when left out, the names of a DataFrame's columns where these are numbers.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        *,
        times: float | numpy.typing.ArrayLike = 1.0,
        kernel: float | numpy.typing.ArrayLike = "squared-exponential",
        length_scale: float | numpy.typing.ArrayLike = 1.0,
        amplitude: float | numpy.typing.ArrayLike = 1.0,
        noise: float | numpy.typing.ArrayLike = 1.0,
        mean: float | numpy.typing.ArrayLike = 0.0,
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def parameters(self) -> dict[str, typing.Any]:
        """
        The hyperparameters by keyword.
        """
    @property
    def amplitude(self) -> float | numpy.typing.ArrayLike:
        """
        prior variance of the clusters' curves
        """
    @property
    def kernel(self) -> float | numpy.typing.ArrayLike:
        """
        covariance of a curve at two times
        """
    @property
    def length_scale(self) -> float | numpy.typing.ArrayLike:
        """
        distance of times over which a curve changes
        """
    @property
    def mean(self) -> float | numpy.typing.ArrayLike:
        """
        prior mean of the curves
        """
    @property
    def noise(self) -> float | numpy.typing.ArrayLike:
        """
        variance of a cell about its cluster's curve
        """
    @property
    def times(self) -> float | numpy.typing.ArrayLike:
        """
        time of each column; a scalar is the distance of equally spaced times
        """

class Product(Family):
    """
    Mixed columns: each block of columns has a family of its own; blocks are independent given the cluster. Missing cells are allowed where the block's family allows them.

    Parameters
    ----------
    blocks : sequence of (Family, sequence of int)
        The families and the columns each is for; a column is in one block at most, columns in none are not looked at.
    """

    __hash__: typing.ClassVar[None] = None
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __init__(
        self,
        blocks: collections.abc.Sequence[
            tuple[typing.Any, collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]]
        ],
    ) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    @property
    def blocks(self) -> list[typing.Any]:
        """
        The (family, columns) pairs.
        """

class Tree:
    """
    A forest of binary trees in flat arrays, children before parents.

    Nodes 0 ... n_leaves - 1 are the rows; merge t makes node n_leaves + t. Several roots are a
    lambda-forest. Arrays are read-only views of the tree's own memory.
    """

    __hash__: typing.ClassVar[None] = None
    @staticmethod
    def from_children(
        n_leaves: typing.SupportsInt | typing.SupportsIndex,
        children: typing.Any,
        *,
        costs: typing.Any = None,
        kind: str = "none",
    ) -> Tree:
        """
        A forest from its merges.

        Parameters
        ----------
        n_leaves : int
        children : array of int, shape (n_merges, 2)
            Node ids; each node is merged at most once, after it was made.
        costs : array of shape (n_merges,), optional
        kind : {"none", "log_d", "divergence"}
            What ``costs`` holds.

        Raises
        ------
        ValueError
            Naming the first merge that does not fit.
        """
    @staticmethod
    def from_json(text: str) -> Tree:
        """
        The tree that `to_json` wrote.
        """
    @staticmethod
    def from_linkage(Z: typing.Any) -> Tree:
        """
        The tree of a SciPy linkage matrix, shape (n - 1, 4); heights are not kept.
        """
    @staticmethod
    def from_newick(
        text: str, *, names: collections.abc.Sequence[str] | None = None, resolve: bool = False
    ) -> Tree:
        """
        The forest of a Newick text (one tree or several).

        Parameters
        ----------
        text : str
        names : sequence of str, optional
            Row i is the leaf ``names[i]``; without names leaves are labelled by row number.
        resolve : bool
            Join the children of a node with more than two from left to right; else it is refused.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __getstate__(
        self,
    ) -> tuple[
        int, numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64], str
    ]: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def cut(
        self,
        *,
        lam: typing.SupportsFloat | typing.SupportsIndex | None = None,
        n_clusters: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> numpy.typing.NDArray[numpy.int64]:
        """
        Labels from the costs of RBHC, numbered from the largest cluster, then by first row.

        Merges below ``lam`` stay, on the running maximum of d*; or the ``n_clusters - 1`` costliest merges
        are undone. A tree of BHC has no d*: cut its posterior.
        """
    def forest(
        self,
        *,
        lam: typing.SupportsFloat | typing.SupportsIndex | None = None,
        n_clusters: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> Tree:
        """
        The forest that `cut` labels: the merges below the cut.
        """
    def to_json(self, *, names: collections.abc.Sequence[str] | None = None) -> str:
        """
        Flat JSON: two arrays of child ids, the costs, the names if given.
        """
    def to_linkage(self, *, heights: typing.Any = None) -> numpy.ndarray:
        """
        SciPy's linkage matrix, shape (n - 1, 4), rows in order of height.

        Without ``heights`` (one a node, none larger than its parent's) they are: d* and its running
        maximum for a tree of RBHC; -log r and its running minimum from the root for one of BHC, so that
        ``fcluster(Z, log(2), "distance")`` is the cut at r < 0.5; else the number of merges on the longest
        way down.

        Raises
        ------
        ValueError
            When the forest has several roots.
        """
    def to_newick(
        self, *, names: collections.abc.Sequence[str] | None = None, heights: typing.Any = None
    ) -> str:
        """
        Newick text, one line a root, which `from_newick` reads back.

        Parameters
        ----------
        names : sequence of str, optional
            One a row, all different and none empty; without names leaves are labelled by row number.
        heights : array of shape (n_nodes,), optional
            Finite, none larger than its parent's; branch lengths are their differences.
        """
    @property
    def children(self) -> numpy.ndarray:
        """
        Node ids, shape (n_merges, 2).
        """
    @property
    def cost(self) -> numpy.ndarray:
        """
        d* of each merge, shape (n_merges,), of a tree of RBHC; else empty.
        """
    @property
    def kind(self) -> str:
        """
        What the merges' costs are: 'none', 'log_d' or 'divergence'.
        """
    @property
    def log_d(self) -> numpy.ndarray:
        """
        log d of each merge, shape (n_merges,), of a greedy tree of BHC; else empty.
        """
    @property
    def n_leaves(self) -> int:
        """
        Number of rows.
        """
    @property
    def n_merges(self) -> int:
        """
        Number of merges: n_leaves less the roots.
        """
    @property
    def n_nodes(self) -> int:
        """
        Number of leaves and merges.
        """
    @property
    def parent(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Node ids, shape (n_nodes,); -1 at roots.
        """
    @property
    def roots(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        The roots' ids, ascending.
        """
    @property
    def size(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Number of leaves below each node, shape (n_nodes,).
        """

class TreePosterior:
    @property
    def alpha(self) -> float: ...
    @property
    def height(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def log_evidence_bound(self) -> float: ...
    @property
    def log_marginal(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def log_odds(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def log_tree(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def omega(self) -> numpy.typing.NDArray[numpy.float64]: ...

class Relocations:
    @property
    def log_evidence_bound(self) -> float: ...
    @property
    def log_gain(self) -> numpy.ndarray: ...
    @property
    def log_gain_of_merge(self) -> numpy.typing.NDArray[numpy.float64]: ...

def all_threads() -> int:
    """
    What n_threads=None takes.
    """

def bayes_kmeans_bhc(
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    n_seeds: typing.SupportsInt | typing.SupportsIndex,
    seeds: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    merge: bool,
    exact_rows: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def bayes_kmeans_groups(
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    n_seeds: typing.SupportsInt | typing.SupportsIndex,
    most: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> numpy.typing.NDArray[numpy.int64]: ...
def best_nodes_at_count(
    tree: Tree, posterior: TreePosterior, n_clusters: typing.SupportsInt | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]: ...
def binder_nodes(
    tree: Tree, posterior: TreePosterior, together_cost: typing.SupportsFloat | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]: ...
def byte_size(bytes: typing.SupportsFloat | typing.SupportsIndex) -> str:
    """
    "1.5 GB".
    """

def cluster_of_nodes(
    tree: Tree, nodes: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]
) -> numpy.typing.NDArray[numpy.int64]: ...
def coclustering(
    tree: Tree,
    posterior: TreePosterior,
    first: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    second: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
) -> numpy.ndarray: ...
def coclustering_pairs(
    tree: Tree,
    posterior: TreePosterior,
    first: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    second: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
) -> numpy.ndarray: ...
def compiler() -> str:
    """
    Compiled by.
    """

def curve(
    family: Family, table: Table, times: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]
) -> tuple[typing.Any, ...]: ...
def dendrogram_purity(
    tree: Tree, classes: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], pairs: bool
) -> float: ...
def exact_log_evidence(
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    progress: typing.Any,
) -> float: ...
def explain(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    node: typing.SupportsInt | typing.SupportsIndex,
    order: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
) -> tuple[typing.Any, ...]: ...
def forget(tree: Tree, rows: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]) -> Tree: ...
def gradient_of_evidence(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    progress: typing.Any,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> tuple[typing.Any, ...]: ...
def greedy_bhc(
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    collapse: bool,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def impute(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    fresh: Table | None,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> numpy.ndarray: ...
def impute_levels(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    fresh: Table | None,
    column: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> numpy.ndarray: ...
def insert(
    tree: Tree,
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    everywhere: bool,
    rotate: bool,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def instruction_set() -> str:
    """
    Compiled for.
    """

def labels_by_posterior(
    tree: Tree,
    nodes: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    posterior: TreePosterior,
) -> numpy.typing.NDArray[numpy.int64]: ...
def labels_of(
    tree: Tree, nodes: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]
) -> numpy.typing.NDArray[numpy.int64]: ...
def linkage_heights(
    tree: Tree, posterior: TreePosterior
) -> numpy.typing.NDArray[numpy.float64]: ...
def log_cluster_count(
    tree: Tree, posterior: TreePosterior, max_clusters: typing.SupportsInt | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.float64]: ...
def log_evidence_bound(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    kind: str,
    progress: typing.Any,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> float: ...
def log_predictive(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    fresh: Table,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> numpy.ndarray: ...
def log_responsibilities(
    labels: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    table: Table,
    family: Family,
    fresh: Table,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> numpy.ndarray: ...
def machine_memory() -> float:
    """
    In bytes.
    """

def map_nodes(tree: Tree, posterior: TreePosterior) -> numpy.typing.NDArray[numpy.int64]: ...
def nodes_at_count(
    tree: Tree, posterior: TreePosterior, n_clusters: typing.SupportsInt | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]: ...
def nodes_by_probability(
    tree: Tree, posterior: TreePosterior, threshold: typing.SupportsFloat | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]: ...
def path_entropy(tree: Tree, posterior: TreePosterior) -> numpy.typing.NDArray[numpy.float64]: ...
def posterior(
    tree: Tree,
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    progress: typing.Any,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> TreePosterior: ...
def randomized_bhc(
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    subset: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def refine(
    tree: Tree,
    table: Table,
    family: Family,
    alpha: typing.SupportsFloat | typing.SupportsIndex,
    max_regrafts: typing.SupportsInt | typing.SupportsIndex,
    everywhere: bool,
    max_seconds: typing.SupportsFloat | typing.SupportsIndex,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def relaxed_bhc(
    table: Table,
    family: Family,
    lam: typing.SupportsFloat | typing.SupportsIndex,
    n_clusters: typing.SupportsInt | typing.SupportsIndex,
    method: str,
    n_threads: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> Tree: ...
def relocate(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    four: bool,
    progress: typing.Any,
    n_threads: typing.SupportsInt | typing.SupportsIndex = 0,
) -> Relocations: ...
def relocated_tree(
    tree: Tree,
    node: typing.SupportsInt | typing.SupportsIndex,
    move: typing.SupportsInt | typing.SupportsIndex,
) -> Tree: ...
def sample_partitions(
    tree: Tree,
    posterior: TreePosterior,
    n_samples: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.ndarray: ...
def sample_rows(
    tree: Tree,
    posterior: TreePosterior,
    table: Table,
    family: Family,
    n_samples: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
    progress: typing.Any,
) -> tuple[typing.Any, ...]: ...
def separation(
    table: Table,
    family: Family,
    first: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    second: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    order: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
) -> numpy.ndarray: ...

__version__: str = "0.1.0"
