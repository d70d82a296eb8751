/// @file
/// Clusters' statistics as values.
#pragma once

#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace testkit {

using statistics = std::vector<double>;

template <class Model>
statistics nothing(const Model& model) {
  return statistics(at(model.width()), 0.0);
}

template <class Model>
statistics observed(const Model& model, const table& X, const std::vector<index_t>& rows) {
  auto t = nothing(model);
  for (const index_t i : rows) model.observe(X.view().row(i), t.data());
  return t;
}

template <class Model>
statistics joined(const Model& model, statistics t, const statistics& s) {
  model.merge(t.data(), s.data());
  return t;
}

template <class Model>
statistics without(const Model& model, statistics t, const statistics& s) {
  model.remove(t.data(), s.data());
  return t;
}

template <class Model>
double log_marginal(const Model& model, const statistics& t) {
  return model.log_marginal(t.data());
}

template <class Model>
double divergence(const Model& model, const statistics& t, const statistics& s) {
  auto scratch = nothing(model);
  return model.divergence(t.data(), s.data(), scratch.data());
}

/// A cluster with a past: the rows it holds, and statistics that came about by observing, merging
/// and removing in some order.
struct state {
  std::vector<index_t> rows;
  statistics t;
};

template <class Model>
state arbitrary_state(random_source& random, const Model& model, const table& X, int steps = 6) {
  state now{{}, nothing(model)};
  for (int step = 0; step < steps; ++step) {
    const auto order = shuffled(random, X.rows());
    const std::vector<index_t> some(order.begin(), order.begin() + 1 + random.below(4));
    if (random.chance(0.4)) {
      model.observe(X.view().row(some[0]), now.t.data());
      now.rows.push_back(some[0]);
    } else if (now.rows.size() < 3 || random.chance(0.5)) {
      model.merge(now.t.data(), observed(model, X, some).data());
      now.rows.insert(now.rows.end(), some.begin(), some.end());
    } else {
      random.shuffle(now.rows);
      const auto kept = now.rows.begin() + 1 + random.below(count(now.rows) - 1);
      const std::vector<index_t> gone(kept, now.rows.end());
      now.rows.erase(kept, now.rows.end());
      model.remove(now.t.data(), observed(model, X, gone).data());
    }
  }
  return now;
}

/// Whether two sums of about `size` agree up to rounding.
inline bool near(double a, double b, double size = 0.0, double tolerance = 1e-11) {
  const double scale = std::max({1.0, std::fabs(a), std::fabs(b), std::fabs(size)});
  return std::fabs(a - b) <= tolerance * scale;
}

}  // namespace testkit
