/// @file
/// Evidence of Gaussian clusters with independent columns and missing cells, eight at a time.
#pragma once

#include <bhclust/detail/column_holes.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace bhclust::detail {

/// As normal_inverse_gamma_kernel, with a count n_j of its own for each column: up to a term that a
/// union shares with its parts,
///     log p = Σ_j [count_term(n_j) - (a_j + n_j/2) log(1 + M_j + κn/(κ+n) (ȳ_j - h_j)²)].
/// Of rows against a cluster, columns in which it has seen as many values share a logarithm.
///
/// Records: see column_holes; the term is log p, and M follows the means.
template <class Model>
class normal_inverse_gamma_holes_kernel {
 public:
  struct column {
    index_t j;
    double power;           ///< a + (n + 1)/2
    double centre, weight;  ///< a row's factor is 1 + weight (y - centre)²
    double change;          ///< what else it gains by a value in the column
  };
  struct query {
    double log_p = 0.0;
    std::vector<double> n, mean, squares;
    std::vector<double> from_prior;  ///< ȳ - h
    std::vector<column> columns;     ///< ascending powers
  };

  normal_inverse_gamma_holes_kernel(const Model& model, const table_view& X)
      : columns_(scale(model, X)), records_{model.columns()}, kind_(kinds_of(model)) {
    for (index_t j = 0; j < d(); ++j) {
      const auto& own = model.column(j);
      prior_mean_.push_back(columns_(j, own.mean));
      kappa_.push_back(own.kappa);
      shape_.push_back(own.a);
      if (kind_[at(j)] == static_cast<index_t>(terms_.size())) add_terms(own, X.rows());
    }
  }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr index_t most_kinds = 4;
    const auto kinds = kinds_of(model);
    if (*std::max_element(kinds.begin(), kinds.end()) >= most_kinds) return false;
    std::vector<double> means;
    for (index_t j = 0; j < model.columns(); ++j) means.push_back(model.column(j).mean);
    return scale(model, X).take(X, means, true);
  }

  [[nodiscard]] index_t row_fields() const noexcept { return records_.row_fields(); }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 1 + 3 * d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const {
    records_.encode(
        columns_, row, cluster_fields(), [this](const double* c) { return log_p(c); }, y);
  }

  void lift(const double* row, double* cluster) const noexcept {
    records_.lift(row, cluster);
    std::fill_n(squares(cluster), d(), 0.0);
  }

  void merge(const double* a, const double* b, double* made) const {
    records_.merge(a, b, made);
    for (index_t j = 0; j < d(); ++j) {
      const double apart = records_.mean(b)[j] - records_.mean(a)[j];
      const double weight = records_.n(a)[j] * records_.share(a, b, j);
      squares(made)[j] = squares(a)[j] + squares(b)[j] + weight * apart * apart;
    }
    made[0] = log_p(made);
  }

  void load(query& q, const double* cluster) const {
    q.log_p = cluster[0];
    q.n.assign(records_.n(cluster), records_.n(cluster) + d());
    q.mean.assign(records_.mean(cluster), records_.mean(cluster) + d());
    q.squares.assign(squares(cluster), squares(cluster) + d());
    q.from_prior.resize(at(d()));
    q.columns.clear();
    for (index_t j = 0; j < d(); ++j) {
      const double n = q.n[at(j)];
      const double kappa = kappa_[at(j)];
      const double z = q.mean[at(j)] - prior_mean_[at(j)];
      const double more = excess(cluster, j);
      q.from_prior[at(j)] = z;
      q.columns.push_back({j, power(j, n + 1.0), q.mean[at(j)] - kappa / (kappa + n) * z,
                           (kappa + n) / (kappa + n + 1.0) / (1.0 + more),
                           count_term(j, n + 1.0) - count_term(j, n) - 0.5 * std::log1p(more)});
    }
    std::sort(q.columns.begin(), q.columns.end(), [](const column& a, const column& b) {
      return a.power < b.power || (a.power == b.power && a.j < b.j);
    });
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    constexpr index_t in_range = 8;
    lanes gain = lanes::all(0.0);
    for (index_t first = 0; first < d();) {
      const double power = q.columns[at(first)].power;
      const index_t end = std::min(d(), first + in_range);
      lanes product = lanes::all(1.0);
      index_t i = first;
      for (; i < end && q.columns[at(i)].power == power; ++i) {
        const column& c = q.columns[at(i)];
        const lanes y = lanes::load(block + c.j * lanes::count);
        const lanes apart = y - c.centre;
        product = product * (where_seen(y, apart * apart * c.weight) + 1.0);
        gain = gain + where_seen(y, lanes::all(c.change));
      }
      gain = gain - log(product) * power;
      first = i;
    }
    return gain - lanes::load(block + d() * lanes::count);
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    const double* counts = block + w;
    const double* means = counts + d() * w;
    const double* squares = means + d() * w;
    lanes log_p = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes other = lanes::load(counts + j * w);
      const lanes n = other + q.n[at(j)];
      const lanes share = other / at_least(n, 1.0);
      const lanes apart = lanes::load(means + j * w) - q.mean[at(j)];
      const lanes z = share * apart + q.from_prior[at(j)];
      const lanes kappa = lanes::all(kappa_[at(j)]);
      const lanes factor = lanes::load(squares + j * w) + q.squares[at(j)] +
                           share * apart * apart * q.n[at(j)] + n * kappa / (n + kappa) * (z * z) +
                           1.0;
      log_p = log_p + look_up(terms_[at(kind_[at(j)])].data(), n) -
              log(factor) * (n * 0.5 + shape_[at(j)]);
    }
    return log_p - (lanes::load(block) + q.log_p);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return records_.d; }
  [[nodiscard]] double power(index_t j, double n) const noexcept { return shape_[at(j)] + 0.5 * n; }
  [[nodiscard]] double* squares(double* cluster) const noexcept { return cluster + 1 + 2 * d(); }
  [[nodiscard]] const double* squares(const double* cluster) const noexcept {
    return cluster + 1 + 2 * d();
  }
  [[nodiscard]] double count_term(index_t j, double n) const noexcept {
    return terms_[at(kind_[at(j)])][static_cast<std::size_t>(n)];
  }

  [[nodiscard]] double excess(const double* cluster, index_t j) const noexcept {
    const double n = records_.n(cluster)[j];
    const double z = records_.mean(cluster)[j] - prior_mean_[at(j)];
    return squares(cluster)[j] + kappa_[at(j)] / (kappa_[at(j)] + n) * n * z * z;
  }

  [[nodiscard]] double log_p(const double* cluster) const noexcept {
    double sum = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      const double n = records_.n(cluster)[j];
      sum += count_term(j, n) - power(j, n) * std::log1p(excess(cluster, j));
    }
    return sum;
  }

  /// Columns of equal a and kappa are of a kind; kinds are numbered as they come.
  [[nodiscard]] static std::vector<index_t> kinds_of(const Model& model) {
    std::vector<index_t> kinds, first;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& own = model.column(j);
      const auto known = std::find_if(first.begin(), first.end(), [&](index_t i) {
        return model.column(i).a == own.a && model.column(i).kappa == own.kappa;
      });
      kinds.push_back(known - first.begin());
      if (known == first.end()) first.push_back(j);
    }
    return kinds;
  }

  /// Sweeps pass over dead slots too, so that a cluster meets itself and its parts.
  template <class Column>
  void add_terms(const Column& own, index_t rows) {
    pacer pace;
    auto& terms = terms_.emplace_back();
    for (index_t i = 0; i <= 2 * rows; ++i) {
      pace(32);
      const auto n = static_cast<double>(i);
      terms.push_back(log_gamma_ratio(own.a, 0.5 * n) -
                      0.5 * (n * ln_2pi + log1p_ratio(n, own.kappa)));
    }
  }

  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    std::vector<double> units;
    for (index_t j = 0; j < model.columns(); ++j) {
      units.push_back(std::sqrt(2.0) * std::sqrt(model.column(j).b));
    }
    return {X, std::move(units)};
  }

  scaled_columns columns_;
  column_holes records_;
  std::vector<index_t> kind_;               ///< of each column
  std::vector<std::vector<double>> terms_;  ///< of each kind, by count
  std::vector<double> prior_mean_;          ///< h
  std::vector<double> kappa_, shape_;
};

}  // namespace bhclust::detail
