/// @file
/// Slow twins: every pair of live clusters scored anew at every step, from the rows themselves.
#pragma once

#include "clusters.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace testkit {

inline double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

/// The rows below each node.
inline std::vector<std::vector<index_t>> members_of(const tree& t) {
  std::vector<std::vector<index_t>> members;
  for (index_t i = 0; i < t.leaves(); ++i) members.push_back({i});
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    auto both = members[at(t.left(k))];
    const auto& more = members[at(t.right(k))];
    both.insert(both.end(), more.begin(), more.end());
    members.push_back(std::move(both));
  }
  return members;
}

/// log p of sets of rows; rows of equal cells are one kind, and sets of equal kinds get one answer,
/// so that ties between duplicates are exact.
template <class Model>
class row_sets {
 public:
  row_sets(const Model& model, const table& X) : model_(model), X_(X) {
    for (index_t i = 0; i < X.rows(); ++i) kind_.push_back(kind_of(i));
  }

  [[nodiscard]] std::vector<index_t> kinds(const std::vector<index_t>& rows) const {
    std::vector<index_t> found;
    for (const index_t i : rows) found.push_back(kind_[at(i)]);
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] double log_marginal(const std::vector<index_t>& rows) const {
    const auto key = kinds(rows);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_[key] = testkit::log_marginal(model_, observed(model_, X_, key));
  }

  [[nodiscard]] double divergence(const std::vector<index_t>& a,
                                  const std::vector<index_t>& b) const {
    return testkit::divergence(model_, observed(model_, X_, kinds(a)),
                               observed(model_, X_, kinds(b)));
  }

 private:
  /// The first row with the same cells.
  [[nodiscard]] index_t kind_of(index_t i) const {
    for (index_t k = 0; k < i; ++k) {
      bool same = true;
      for (index_t j = 0; j < X_.columns(); ++j) {
        const double x = X_.cell(i, j);
        const double y = X_.cell(k, j);
        same = same && (x == y || (std::isnan(x) && std::isnan(y)));
      }
      if (same) return k;
    }
    return i;
  }

  const Model& model_;
  const table& X_;
  std::vector<index_t> kind_;
  mutable std::map<std::vector<index_t>, double> known_;
};

/// log d by the formulas of Heller & Ghahramani and Lee & Choi as they are printed.
template <class Model>
class log_d_costs {
 public:
  log_d_costs(const Model& model, const table& X, double alpha)
      : sets_(model, X), log_alpha_(std::log(alpha)) {
    for (index_t i = 0; i < X.rows(); ++i) {
      rows_.push_back({i});
      log_tree_.push_back(log_one({i}));
    }
  }

  [[nodiscard]] double cost(index_t a, index_t b) const {
    return log_tree_[at(a)] + log_tree_[at(b)] - log_one(both(a, b));
  }
  /// The size of the numbers that the cost is made of.
  [[nodiscard]] double size(index_t a, index_t b) const {
    return std::fabs(log_tree_[at(a)]) + std::fabs(log_tree_[at(b)]);
  }
  void join(index_t a, index_t b) {
    log_tree_.push_back(log_sum(log_one(both(a, b)), log_tree_[at(a)] + log_tree_[at(b)]));
    rows_.push_back(both(a, b));
  }
  [[nodiscard]] std::vector<index_t> kinds(index_t a) const { return sets_.kinds(rows_[at(a)]); }

 private:
  [[nodiscard]] std::vector<index_t> both(index_t a, index_t b) const {
    auto rows = rows_[at(a)];
    rows.insert(rows.end(), rows_[at(b)].begin(), rows_[at(b)].end());
    return rows;
  }
  [[nodiscard]] double log_one(const std::vector<index_t>& rows) const {
    return log_alpha_ + std::lgamma(static_cast<double>(rows.size())) + sets_.log_marginal(rows);
  }

  row_sets<Model> sets_;
  double log_alpha_;
  std::vector<std::vector<index_t>> rows_;
  std::vector<double> log_tree_;
};

template <class Model>
class divergence_costs {
 public:
  divergence_costs(const Model& model, const table& X) : sets_(model, X) {
    for (index_t i = 0; i < X.rows(); ++i) rows_.push_back({i});
  }

  [[nodiscard]] double cost(index_t a, index_t b) const {
    return sets_.divergence(rows_[at(a)], rows_[at(b)]);
  }
  [[nodiscard]] double size(index_t, index_t) const { return 1.0; }
  void join(index_t a, index_t b) {
    auto rows = rows_[at(a)];
    rows.insert(rows.end(), rows_[at(b)].begin(), rows_[at(b)].end());
    rows_.push_back(std::move(rows));
  }
  [[nodiscard]] std::vector<index_t> kinds(index_t a) const { return sets_.kinds(rows_[at(a)]); }

 private:
  row_sets<Model> sets_;
  std::vector<std::vector<index_t>> rows_;
};

/// Follows a tree merge by merge. Each merge must be cheapest of all pairs up to rounding, and
/// among the pairs that hold the same cells as it, first by newer and then by older node; it must
/// have cost what the tree says. The merges before node `first` need only do the latter.
template <class Costs>
void check_greedy(const tree& t, Costs costs, double limit = infinite, index_t first = 0) {
  auto live = iota(t.leaves());
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const index_t older = std::min(t.left(k), t.right(k));
    const index_t newer = std::max(t.left(k), t.right(k));
    const double cost = costs.cost(older, newer);
    const double size = costs.size(older, newer);
    CHECK(cost < limit);
    CHECK_MESSAGE(near(t.cost(k), cost, size),
                  "node " << k << ": found " << t.cost(k) << ", wanted " << cost);
    for (const index_t b : live) {
      for (const index_t a : live) {
        if (a >= b || k < first) break;
        const double other = costs.cost(a, b);
        const bool no_cheaper = other >= cost || near(other, cost, size);
        CHECK_MESSAGE(no_cheaper, "node " << k << " joins " << older << " and " << newer << " at "
                                          << cost << ", but " << a << " and " << b << " cost "
                                          << other);
        const bool same = other == cost && std::minmax(costs.kinds(a), costs.kinds(b)) ==
                                               std::minmax(costs.kinds(older), costs.kinds(newer));
        if (same) CHECK(std::tie(newer, older) <= std::tie(b, a));
      }
    }
    costs.join(older, newer);
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](index_t a) { return a == older || a == newer; }),
               live.end());
    live.push_back(k);
  }
}

}  // namespace testkit
