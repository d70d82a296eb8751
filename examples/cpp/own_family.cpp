// Clusters one table with a family of the library and with the same written anew here, says what
// was found, and exits with 0 if both find the two groups and agree on the evidence.
#include <bhclust/bhclust.hpp>

#include <cmath>
#include <iostream>
#include <vector>

namespace {

// Waiting times: exponential, with a Gamma(shape, rate) prior on the rate. All that the concept
// asks for and nothing more.
struct MyFamily {
  double shape = 1.0;
  double rate = 1.0;

  [[nodiscard]] static bhclust::index_t width(bhclust::index_t /*columns*/) { return 2; }

  static void observe(const bhclust::row_view& row, double* t) {
    t[0] += 1.0;
    t[1] += row.value(0);
  }

  [[nodiscard]] double log_marginal(const double* t) const {
    return std::lgamma(shape + t[0]) - std::lgamma(shape) + shape * std::log(rate) -
           (shape + t[0]) * std::log(rate + t[1]);
  }
};

struct answer {
  std::vector<bhclust::index_t> labels;
  double evidence;
};

template <class Family>
answer cluster(const std::vector<double>& waits, const Family& family) {
  const auto X = bhclust::rows(waits.data(), static_cast<bhclust::index_t>(waits.size()), 1);
  const auto tree = bhclust::greedy_bhc(X, family);
  const auto posterior = bhclust::posterior(tree, X, family);
  return {bhclust::labels_of(tree, bhclust::map_nodes(tree, posterior), posterior.log_marginal),
          posterior.log_evidence_bound};
}

}  // namespace

int main() {
  const std::vector<double> waits = {0.011, 95.0, 0.012, 80.0, 0.010, 90.0, 0.013, 85.0};
  const std::vector<bhclust::index_t> groups = {0, 1, 0, 1, 0, 1, 0, 1};

  const auto mine = cluster(waits, MyFamily{});
  const auto theirs = cluster(waits, bhclust::ExponentialGamma{});
  std::cout << "bhclust " << bhclust::version << ": log evidence >= " << mine.evidence << '\n';
  for (std::size_t i = 0; i < waits.size(); ++i) {
    std::cout << waits[i] << " s: cluster " << mine.labels[i] << '\n';
  }

  const bool right = theirs.labels == groups && mine.labels == groups &&
                     std::abs(theirs.evidence - mine.evidence) < 1e-9;
  if (!right) std::cerr << "wrong: the library's family gives " << theirs.evidence << '\n';
  return right ? 0 : 1;
}
