/// @file
/// What tests of RBHC ask of it.
#pragma once

#include "tables.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <vector>

namespace testkit {

inline bhclust::relaxed_options by(bhclust::relaxed_method method, double lambda = infinite,
                                   int threads = 1) {
  bhclust::relaxed_options options;
  options.method = method;
  options.lambda = lambda;
  options.n_threads = threads;
  return options;
}

inline std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

inline std::vector<index_t> labels_below(const bhclust::tree& t, double lambda) {
  return bhclust::labels_of(t, bhclust::nodes_below_cost(t, lambda));
}

}  // namespace testkit
