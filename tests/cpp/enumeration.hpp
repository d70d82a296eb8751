/// @file
/// The Dirichlet process mixture by listing partitions: those of a tree, or all there are.
#pragma once

#include "clusters.hpp"
#include "examples.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/any_family.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace testkit {

/// log Σ exp(x).
inline double log_sum_of(const std::vector<double>& x) {
  double largest = -infinite;
  for (const double v : x) largest = std::max(largest, v);
  double sum = 0.0;
  for (const double v : x) sum += std::exp(v - largest);
  return largest + std::log(sum);
}

/// log α Γ(|c|) p(X_c) of sets of rows, and log weights of partitions into such.
template <class Model>
class urn {
 public:
  urn(const Model& model, const table& X, double alpha)
      : sets_(model, X), log_alpha_(std::log(alpha)) {}

  [[nodiscard]] double log_weight(const std::vector<index_t>& rows) const {
    return log_alpha_ + std::lgamma(static_cast<double>(rows.size())) + sets_.log_marginal(rows);
  }

 private:
  row_sets<Model> sets_;
  double log_alpha_;
};

/// Every partition of a tree with its probability.
class enumeration {
 public:
  template <class Model>
  enumeration(const tree& t, const urn<Model>& urn) : members_(members_of(t)) {
    for (const auto& rows : members_) log_weight_.push_back(urn.log_weight(rows));
    for (const auto& one : partitions_of(t)) {
      partitions_.push_back(one);
      log_weights_.push_back(log_weight_of(one));
    }
    log_total_ = log_sum_of(log_weights_);
  }

  [[nodiscard]] double log_weight_of(const partition& one) const {
    double sum = 0.0;
    for (const index_t k : one) sum += log_weight_[at(k)];
    return sum;
  }
  [[nodiscard]] double log_total() const { return log_total_; }
  [[nodiscard]] const std::vector<partition>& partitions() const { return partitions_; }

  /// Σ of probabilities of the partitions for which `holds`.
  template <class Holds>
  [[nodiscard]] double probability(const Holds& holds) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < partitions_.size(); ++i) {
      if (holds(partitions_[i])) sum += std::exp(log_weights_[i] - log_total_);
    }
    return sum;
  }
  [[nodiscard]] double in_partition(index_t k) const {
    return probability(
        [&](const partition& one) { return std::find(one.begin(), one.end(), k) != one.end(); });
  }
  /// Whether the leaves of node k are in one cluster.
  [[nodiscard]] double together(index_t k) const {
    const auto& rows = members_[at(k)];
    return probability([&](const partition& one) {
      return std::any_of(one.begin(), one.end(), [&](index_t c) {
        const auto& cluster = members_[at(c)];
        return std::all_of(rows.begin(), rows.end(), [&](index_t i) {
          return std::find(cluster.begin(), cluster.end(), i) != cluster.end();
        });
      });
    });
  }
  [[nodiscard]] const partition& most_probable() const {
    const auto best = std::max_element(log_weights_.begin(), log_weights_.end());
    return partitions_[static_cast<std::size_t>(best - log_weights_.begin())];
  }

 private:
  std::vector<std::vector<index_t>> members_;
  std::vector<double> log_weight_, log_weights_;
  std::vector<partition> partitions_;
  double log_total_ = 0.0;
};

inline double log_prior_normaliser(double alpha, index_t n) {
  return std::lgamma(alpha) - std::lgamma(alpha + static_cast<double>(n));
}

/// log evidence of the mixture over all partitions of the rows. For a few rows.
template <class Model>
double log_evidence_of_all(const Model& model, const table& X, double alpha) {
  const urn<Model> weights(model, X, alpha);
  std::vector<double> logs;
  for (const auto& blocks : set_partitions(X.rows())) {
    double sum = 0.0;
    for (const auto& rows : blocks) sum += weights.log_weight(rows);
    logs.push_back(sum);
  }
  return log_sum_of(logs) + log_prior_normaliser(alpha, X.rows());
}

/// Visits trees and forests over tables of every family: (tree, any_family, table, alpha, random).
template <class Visit>
void for_each_posterior(int rounds, index_t rows, const Visit& visit) {
  int round = 0;
  for_each_example(rounds, rows, 3,
                   [&](random_source& random, const bhclust::any_family& family, const table& X) {
                     const double alpha = random.positive();
                     visit(random_tree(random, rows, 1 + round++ % 3), family, X, alpha, random);
                   });
}

}  // namespace testkit
