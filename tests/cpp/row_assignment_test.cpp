// Rows that join clusters: clusters passed over by their peaks are never the best.
#include "gaussian_tables.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/detail/row_assignment.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/normal_known_variance.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using bhclust::index_t;
using namespace bhclust::detail;

namespace {

template <class Family>
using store_of = typename store_for<bhclust::model_of<Family>, evidence_score>::type;

/// Counts the rows it scores, and knows no peaks unless it is to.
template <class Store, bool Peaks>
class watched : public Store {
 public:
  watched(Store plain, std::shared_ptr<index_t> scored)
      : Store(std::move(plain)), scored_(std::move(scored)) {}
  watched(const watched& whole, const std::vector<index_t>& slots)
      : Store(whole, slots), scored_(whole.scored_) {}

  [[nodiscard]] bool has_peaks() const { return Peaks && Store::has_peaks(); }
  void row(const typename Store::query& q, index_t begin, index_t end, double* out) const {
    *scored_ += end - begin;
    Store::row(q, begin, end, out);
  }

 private:
  std::shared_ptr<index_t> scored_;
};

struct outcome {
  std::vector<std::vector<index_t>> members;
  index_t scored = 0;
};

template <bool Peaks, class Family>
outcome assigned(const Family& family, const bhclust::table_view& X,
                 const std::vector<index_t>& seeds, double alpha, int threads) {
  using store_type = watched<store_of<Family>, Peaks>;
  const auto model = bhclust::bind(family, X);
  const auto scored = std::make_shared<index_t>(0);
  thread_team team(threads);
  progress_meter progress({}, 1);
  row_assignment<store_type> run(store_type(make_store<evidence_score>(model, X), scored), X, alpha,
                                 team, progress);
  run.run(seeds);
  return {run.members(), *scored};
}

std::vector<index_t> evenly(index_t rows, index_t count) {
  std::vector<index_t> seeds;
  for (index_t s = 0; s < count; ++s) seeds.push_back(s * rows / count);
  return seeds;
}

template <class Family>
void check_same_members(const gaussian::table& X, index_t seeds, double alpha) {
  CAPTURE(X.kind);
  const auto family = Family::from_data(X.view());
  const auto all = assigned<false>(family, X.view(), evenly(X.n, seeds), alpha, 1);
  const auto some = assigned<true>(family, X.view(), evenly(X.n, seeds), alpha, 1);
  CHECK(some.members == all.members);
}

template <class Family>
void check_peaks(const gaussian::table& X) {
  CAPTURE(X.kind);
  const auto family = Family::from_data(X.view());
  const auto model = bhclust::bind(family, X.view());
  auto store = make_store<evidence_score>(model, X.view());
  if (!store.has_peaks()) return;
  typename store_of<Family>::query q;
  std::vector<double> gains(static_cast<std::size_t>(X.n));
  index_t slot = 0;
  for (index_t size = 1; size < X.n; size *= 2) {
    for (index_t i = size / 2; size > 1 && i < size; ++i) slot = store.merge(slot, i);
    store.load(q, slot);
    store.row(q, 0, X.n, gains.data());
    double most = -std::numeric_limits<double>::infinity();
    for (index_t i = 0; i < X.n; ++i) {
      const double own = store.own(i);
      const double gain = gains[static_cast<std::size_t>(i)];
      most = std::max(most, gain - own - 1e-13 * (std::fabs(gain) + std::fabs(own)));
    }
    CHECK(store.peak(q) >= most);
    CHECK_MESSAGE(std::isfinite(store.peak(q)), size << " rows");
  }
}

template <class Family>
void check_family() {
  for (const index_t d : {1, 2, 5, 9}) {
    for (const auto& X : gaussian::hard(400, d)) {
      check_same_members<Family>(X, 20, 0.7);
      check_peaks<Family>(X);
    }
  }
  check_same_members<Family>(gaussian::mixture(3000, 3, 11), 300, 20.0);
}

}  // namespace

TEST_CASE("row assignment: peaks change nothing, full covariance") {
  check_family<bhclust::NormalInverseWishart>();
}

TEST_CASE("row assignment: peaks change nothing, independent columns") {
  check_family<bhclust::NormalInverseGamma>();
}

TEST_CASE("row assignment: peaks change nothing, known variance") {
  check_family<bhclust::NormalKnownVariance>();
}

TEST_CASE("row assignment: on whole numbers ties go to the oldest cluster, peaks or not") {
  auto X = gaussian::mixture(600, 2, 3);
  for (double& x : X.cells) x = std::round(0.3 * x);
  check_same_members<bhclust::NormalInverseWishart>(X, 60, 1.0);
  check_same_members<bhclust::NormalInverseGamma>(X, 60, 1.0);
  check_same_members<bhclust::NormalKnownVariance>(X, 60, 1.0);
}

TEST_CASE("row assignment: less than half is scored where clusters are apart") {
  const auto X = gaussian::mixture(4000, 5, 7);
  const auto family = bhclust::NormalInverseWishart::from_data(X.view());
  const auto seeds = evenly(4000, 63);
  const auto all = assigned<false>(family, X.view(), seeds, 1.0, 1);
  const auto some = assigned<true>(family, X.view(), seeds, 1.0, 1);
  CHECK(some.members == all.members);
  CHECK_MESSAGE(2 * some.scored < all.scored, some.scored << " of " << all.scored);
  // and by the type-erased store, which Python has
  const bhclust::any_family erased = family;
  const auto by_erased = assigned<true>(erased, X.view(), seeds, 1.0, 1);
  CHECK(by_erased.members == all.members);
  CHECK(by_erased.scored == some.scored);
}

TEST_CASE_TEMPLATE("row assignment: more threads, more rows than are kept, the same clusters",
                   Family, bhclust::NormalInverseWishart, bhclust::NormalInverseGamma) {
  const auto X = gaussian::mixture(20003, 2, 9);
  const auto family = Family::from_data(X.view());
  const auto seeds = evenly(20003, 600);
  const auto all = assigned<false>(family, X.view(), seeds, 100.0, 1);
  const auto some = assigned<true>(family, X.view(), seeds, 100.0, 1);
  CHECK(some.members == all.members);
  CHECK(some.scored < all.scored);
  CHECK(assigned<true>(family, X.view(), seeds, 100.0, 2).members == all.members);
}

TEST_CASE("row assignment: queries forgotten on the way, as columns are many") {
  gaussian::table X{"apart", 400, 3000, {}};
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal(0.0, 10.0);
  for (index_t c = 0; c < X.n * X.d; ++c) X.cells.push_back(normal(random));
  bhclust::NormalKnownVariance family;
  family.prior_variance = 100.0;
  const auto all = assigned<false>(family, X.view(), evenly(400, 100), 1.0, 1);
  CHECK(all.members.size() > 175);  // queries are kept of fewer
  CHECK(assigned<true>(family, X.view(), evenly(400, 100), 1.0, 1).members == all.members);
}
