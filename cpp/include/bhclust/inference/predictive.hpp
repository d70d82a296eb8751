/// @file
/// Densities of new rows and their cluster, from a tree's posterior.
#pragma once

#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace bhclust {

/// How the functions of new rows work.
struct predictive_options {
  int n_threads = 0;  ///< 0: all cores; results do not depend on it
  progress_function progress{};
};

namespace detail {

inline void require_columns(const table_view& X, const table_view& fresh) {
  require(X.columns() == fresh.columns(), [&] {
    return "X_new has " + std::to_string(fresh.columns()) + " columns; the fitted X has " +
           std::to_string(X.columns());
  });
  require(!fresh.grouped(), "X_new holds groups of rows; give rows");
}

inline constexpr index_t chunk_of_rows = 64;
[[nodiscard]] constexpr index_t chunks_of(index_t rows) noexcept {
  return (rows + chunk_of_rows - 1) / chunk_of_rows;
}

/// The new rows, ready to be scored against many clusters.
template <class Model>
class fresh_rows {
 public:
  fresh_rows(const Model& model, const table_view& fresh) : model_(model), block_(model.width()) {
    pacer pace;
    block_.reserve(fresh.rows());
    for (index_t i = 0; i < fresh.rows(); ++i) {
      model_.observe(fresh.row(i), block_.append());
      pace(model_.width());
    }
  }

  [[nodiscard]] index_t size() const noexcept { return block_.size(); }

  /// log p(x | D) = log p(D ∪ x) - log p(D) for the rows of one chunk: f(row, value).
  template <class F>
  void score(const double* cluster, double log_marginal, index_t begin, index_t end,
             const F& f) const {
    const index_t width = model_.width();
    std::vector<double> joined(static_cast<std::size_t>(width));
    marginal_batch<Model> batch(model_);
    const auto give = [&](index_t i, double value) { f(i, value - log_marginal); };
    pacer pace;
    for (index_t i = begin; i < end; ++i) {
      std::copy_n(cluster, width, joined.data());
      model_.merge(joined.data(), block_[i]);
      batch.add(i, joined.data(), give);
      pace(width * width);
    }
    batch.flush(give);
  }

  static constexpr index_t chunk = chunk_of_rows;
  [[nodiscard]] index_t chunks() const noexcept { return chunks_of(size()); }

 private:
  const Model& model_;
  statistics_block block_;
};

}  // namespace detail

/// log p(x | X) for each row of `fresh`: the mixture over all nodes of the tree and a new cluster
/// (a density, which Heller & Ghahramani's eq. 9 is not: see the mathematics page). Nats.
/// O(nodes · rows of fresh · width).
template <class Family>
[[nodiscard]] std::vector<double> log_predictive(const tree& t, const tree_posterior& p,
                                                 const table_view& X, const Family& family,
                                                 const table_view& fresh,
                                                 const predictive_options& options = {}) {
  detail::progress_meter progress(options.progress, t.nodes() + 1);
  const auto model = bind_prepared(family, X);
  detail::require_leaves(t, X.rows());
  detail::require_columns(X, fresh);
  check_data(family, fresh);
  const detail::fresh_rows rows(model, fresh);
  detail::thread_team team(options.n_threads);
  std::vector<double> density(static_cast<std::size_t>(fresh.rows()),
                              -std::numeric_limits<double>::infinity());
  const double total = static_cast<double>(p.n_rows(t)) + p.alpha;
  const auto add = [&](double log_weight, const double* cluster, double log_marginal) {
    team.run(
        rows.chunks(),
        [&](int, index_t c) {
          rows.score(cluster, log_marginal, c * rows.chunk,
                     std::min(rows.size(), (c + 1) * rows.chunk), [&](index_t i, double value) {
                       double& sum = density[static_cast<std::size_t>(i)];
                       sum = detail::log_add_exp(sum, log_weight + value);
                     });
        },
        [&] { progress.tick(); });
    progress.advance(1);
  };
  const std::vector<double> nothing(static_cast<std::size_t>(model.width()), 0.0);
  add(std::log(p.alpha / total), nothing.data(), 0.0);
  detail::for_each_node_statistics(t, X, model, [&](index_t k, const double* statistics) {
    const double omega = p.omega[static_cast<std::size_t>(k)];
    if (omega > 0.0) {
      add(std::log(omega) + std::log(static_cast<double>(p.n_rows(t, k)) / total), statistics,
          p.log_marginal[static_cast<std::size_t>(k)]);
    }
  });
  progress.finish();
  return density;
}

/// log probabilities of the flat clusters `labels` (0 … k-1, one a row of X) and, last, of a new
/// cluster, for each row of `fresh`: (rows of fresh) × (k + 1), row after row; each row's
/// exponentials sum to one. The weight of cluster c is n_c p(x | X_c), of a new one α p(x).
template <class Family>
[[nodiscard]] std::vector<double> log_responsibilities(const std::vector<index_t>& labels,
                                                       double alpha, const table_view& X,
                                                       const Family& family,
                                                       const table_view& fresh,
                                                       const predictive_options& options = {}) {
  check_alpha(alpha);
  detail::progress_meter progress(options.progress, detail::chunks_of(fresh.rows()));
  const auto model = bind(family, X);
  detail::require_columns(X, fresh);
  check_data(family, fresh);
  require(static_cast<index_t>(labels.size()) == X.rows(), "labels must have one entry a row of X");
  const index_t k = *std::max_element(labels.begin(), labels.end()) + 1;
  require(*std::min_element(labels.begin(), labels.end()) >= 0, "labels must be 0 or more");
  detail::statistics_block clusters(model.width());
  std::vector<double> weight(static_cast<std::size_t>(k), 0.0), log_marginal;
  for (index_t c = 0; c <= k; ++c) clusters.append();
  std::vector<double> one(static_cast<std::size_t>(model.width()));
  detail::pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    pace(model.width());
    const index_t c = labels[static_cast<std::size_t>(i)];
    std::fill(one.begin(), one.end(), 0.0);
    model.observe(X.row(i), one.data());
    model.merge(clusters[c], one.data());
    weight[static_cast<std::size_t>(c)] += static_cast<double>(X.weight(i));
  }
  weight.push_back(alpha);
  for (index_t c = 0; c <= k; ++c) {
    log_marginal.push_back(model.log_marginal(clusters[c]));
    pace(model.width() * model.width());
  }
  const detail::fresh_rows rows(model, fresh);
  detail::require_memory(fresh.rows(), (k + 1) * 8, [&] {
    return std::to_string(fresh.rows()) + " rows of " + std::to_string(k + 1) + " probabilities";
  });
  std::vector<double> result(static_cast<std::size_t>(fresh.rows() * (k + 1)));
  detail::thread_team team(options.n_threads);
  team.run(
      rows.chunks(),
      [&](int, index_t chunk) {
        const index_t begin = chunk * rows.chunk;
        const index_t end = std::min(rows.size(), begin + rows.chunk);
        for (index_t c = 0; c <= k; ++c) {
          rows.score(clusters[c], log_marginal[static_cast<std::size_t>(c)], begin, end,
                     [&](index_t i, double value) {
                       result[static_cast<std::size_t>(i * (k + 1) + c)] =
                           std::log(weight[static_cast<std::size_t>(c)]) + value;
                     });
          detail::pulse();
        }
        for (index_t i = begin; i < end; ++i) {
          double* row = result.data() + i * (k + 1);
          const double sum = detail::log_sum_exp(row, k + 1);
          for (index_t c = 0; c <= k; ++c) row[c] -= sum;
        }
      },
      [&] { progress.tick(); });
  progress.finish();
  return result;
}

}  // namespace bhclust
