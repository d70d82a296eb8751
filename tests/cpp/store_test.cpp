// Rows of scores: every store against gains computed from the rows themselves, after any merges and
// prunings, bit for bit the same for any bounds of a call and any slots.
#include "clusters.hpp"
#include "examples.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
namespace detail = bhclust::detail;

namespace {

constexpr index_t rows = 21;

template <class Score, class Model>
struct truth {
  Model model;
  const table& X;

  /// The gain of two clusters of rows, and the size of the numbers it is made of.
  [[nodiscard]] std::pair<double, double> gain(const std::vector<index_t>& a,
                                               const std::vector<index_t>& b) const {
    const auto t = observed(model, X, a);
    const auto s = observed(model, X, b);
    if (Score::kind == detail::score_kind::relaxed) {
      const double d = divergence(model, t, s);
      return {-d, d};
    }
    auto both = a;
    both.insert(both.end(), b.begin(), b.end());
    const double pooled = log_marginal(model, observed(model, X, both));
    const double apart = log_marginal(model, t) + log_marginal(model, s);
    return {pooled - apart, std::fabs(pooled) + std::fabs(apart)};
  }
};

/// A store beside the rows of the cluster in each slot.
template <class Score, class Model, class Store>
class followed_store {
 public:
  followed_store(const Model& model, const table& X, Store store)
      : truth_{model, X}, store_(std::move(store)) {
    for (index_t i = 0; i < X.rows(); ++i) members_.push_back({i});
    rows_ = members_.size();
    retired_.resize(members_.size());
  }

  void prepare_searches() { detail::prepare_searches(store_); }

  void merge(index_t a, index_t b) {
    CHECK(store_.merge(a, b) == count(members_));
    auto both = members_[at(a)];
    both.insert(both.end(), members_[at(b)].begin(), members_[at(b)].end());
    members_.push_back(std::move(both));
    retired_.push_back(0);
  }

  void keep(const std::vector<index_t>& slots) {
    std::vector<std::vector<index_t>> kept;
    for (const index_t s : slots) kept.push_back(members_[at(s)]);
    members_ = std::move(kept);
    detail::keep_entries(retired_, slots);
    store_.keep(slots);
  }

  /// No row is left.
  void keep_clusters() {
    auto kept = iota(store_.slots());
    kept.erase(kept.begin(), kept.begin() + count_rows());
    keep(kept);
  }

  /// Row a: the gains of slot a with every slot.
  [[nodiscard]] std::vector<std::vector<double>> gains() const {
    CHECK(store_.slots() == count(members_));
    std::vector<std::vector<double>> all;
    typename Store::query q;
    for (index_t a = 0; a < store_.slots(); ++a) {
      store_.load(q, a);
      std::vector<double> out(members_.size());
      store_.row(q, 0, store_.slots(), out.data());
      all.push_back(std::move(out));
    }
    return all;
  }

  /// Clusters of more rows together than there are share some: any number will do.
  void check_against_truth(double tolerance = 1e-11) const {
    const auto found = gains();
    for (std::size_t a = 0; a < found.size(); ++a) {
      for (std::size_t b = 0; b < found.size(); ++b) {
        CHECK(!std::isnan(found[a][b]));
        if (members_[a].size() + members_[b].size() > rows_) continue;
        const auto [wanted, size] = truth_.gain(members_[a], members_[b]);
        CHECK_MESSAGE(
            near(found[a][b], wanted, size, tolerance),
            "slots " << a << " and " << b << ": found " << found[a][b] << ", wanted " << wanted);
      }
    }
  }

  void check_bounds(random_source& random) const {
    const auto whole = gains();
    typename Store::query q;
    for (int times = 0; times < 25; ++times) {
      const index_t a = random.below(store_.slots());
      const index_t begin = random.below(store_.slots() + 1);
      const index_t end = begin + random.below(store_.slots() + 1 - begin);
      std::vector<double> out(at(end - begin) + 2, -77.0);
      store_.load(q, a);
      store_.row(q, begin, end, out.data() + 1);
      CHECK(out.front() == -77.0);
      CHECK(out.back() == -77.0);
      const auto wanted = whole[at(a)].begin() + begin;
      CHECK(std::equal(out.begin() + 1, out.end() - 1, wanted));
    }
  }

  /// Where the store says so, a query made ready before a merge is good after it, and where slots
  /// are kept.
  void check_kept_queries(random_source& random, const std::vector<index_t>& kept) {
    if (detail::query_width(store_) == 0) return;
    const index_t a = random.below(store_.slots());
    auto wanted = gains()[at(a)];
    typename Store::query q;
    store_.load(q, a);
    merge(random.below(store_.slots()), random.below(store_.slots()));
    std::vector<double> out(wanted.size());
    store_.row(q, 0, count(wanted), out.data());
    CHECK(out == wanted);
    keep(kept);
    detail::keep_entries(wanted, kept);
    out.resize(kept.size());
    store_.row(q, 0, count(wanted), out.data());
    CHECK(out == wanted);
  }

  /// Searches find what the rows of gains say, among slots of which some are retired.
  void check_searches(random_source& random) {
    if constexpr (detail::has<detail::searches_t, Store>) {
      if (!store_.searches()) return;
      const auto offsets = draw_offsets(random);
      const auto offset = [&](index_t slot) { return offsets.of_slot[at(slot)]; };
      const auto whole = gains();
      typename Store::query q;
      for (int times = 0; times < 40; ++times) {
        const index_t a = random.below(store_.slots());
        const index_t begin = random.below(store_.slots() + 1);
        const index_t end = begin + random.below(store_.slots() + 1 - begin);
        detail::cheapest wanted;
        if (random.chance(0.3)) wanted = {offsets.row + random.normal(), random.below(end + 1)};
        auto found = wanted;
        for (index_t s = begin; s < end; ++s) wanted.take(offset(s) - whole[at(a)][at(s)], s);
        store_.load(q, a);
        store_.search(q, begin, end, detail::cost_offsets(offset, offsets.row), found);
        CHECK(found.cost == wanted.cost);
        CHECK(found.slot == wanted.slot);
      }
    }
  }

  /// Searches, if the store can: the earliest of the cheapest slots of whole rows of gains, for any
  /// bounds of a call and any offsets, retired slots passed over. Returns how many were made.
  [[nodiscard]] index_t check_searches(random_source& random, const std::vector<index_t>& retired) {
    if (!detail::can_search(store_)) return 0;
    std::vector<bool> dead(members_.size());
    for (const index_t s : retired) {
      dead[at(s)] = true;
      if constexpr (detail::has<detail::searches_t, Store>) store_.retire(s);
    }
    prepare_searches();  // again: what is retired stays so
    const auto rows_in = count_rows();
    typename Store::query q;
    std::vector<double> gain(members_.size());
    for (int times = 0; times < 60; ++times) {
      store_.load(q, random.below(store_.slots()));
      store_.row(q, 0, store_.slots(), gain.data());
      const double of_row = random.normal();
      std::vector<double> offsets;
      for (index_t s = 0; s < store_.slots(); ++s) {
        offsets.push_back(dead[at(s)] ? HUGE_VAL : s < rows_in ? of_row : random.normal());
      }
      const auto begin = times % 2 == 0 ? 0 : random.below(store_.slots() + 1);
      const auto end =
          times % 3 == 0 ? store_.slots() : begin + random.below(store_.slots() + 1 - begin);
      detail::cheapest wanted;
      for (index_t s = begin; s < end; ++s) wanted.take(offsets[at(s)] - gain[at(s)], s);
      detail::cheapest found;
      const auto offset = [&](index_t s) { return offsets[at(s)]; };
      if constexpr (detail::has<detail::searches_t, Store>) {
        store_.search(q, begin, end, detail::cost_offsets(offset, of_row), found);
      }
      CHECK(found.slot == wanted.slot);
      CHECK(found.cost == wanted.cost);
    }
    return 60;
  }

  [[nodiscard]] index_t slots() const { return store_.slots(); }

 private:
  struct slot_offsets {
    double row;
    std::vector<double> of_slot;
  };

  /// Equal for rows, any for clusters, +inf for those retired here.
  slot_offsets draw_offsets(random_source& random) {
    slot_offsets offsets{random.normal(), {}};
    for (index_t s = 0; s < store_.slots(); ++s) {
      const bool row = members_[at(s)].size() == 1;
      offsets.of_slot.push_back(row ? offsets.row : offsets.row + random.normal());
      if (random.chance(0.1)) retired_[at(s)] = 1;
      if (retired_[at(s)] == 0) continue;
      offsets.of_slot.back() = std::numeric_limits<double>::infinity();
      store_.retire(s);
    }
    return offsets;
  }

  [[nodiscard]] index_t count_rows() const {
    index_t n = 0;
    while (n < count(members_) && members_[at(n)].size() == 1) ++n;
    return n;
  }

  truth<Score, Model> truth_;
  Store store_;
  std::vector<std::vector<index_t>> members_;
  std::size_t rows_ = 0;
  std::vector<char> retired_;  ///< of each slot, whether a search was told so
};

template <class Model>
auto follow(const Model& model, const table& X) {
  auto store = detail::make_store<detail::evidence_score>(model, X.view());
  followed_store<detail::evidence_score, Model, decltype(store)> followed(model, X,
                                                                          std::move(store));
  followed.prepare_searches();
  return followed;
}

std::vector<index_t> some_of(random_source& random, index_t n, double share) {
  std::vector<index_t> kept;
  for (index_t i = 0; i < n; ++i) {
    if (random.chance(share)) kept.push_back(i);
  }
  return kept;
}

void check_equal_where_kept(const std::vector<std::vector<double>>& before,
                            const std::vector<std::vector<double>>& after,
                            const std::vector<index_t>& kept) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::vector<double> wanted;
    for (const index_t s : kept) wanted.push_back(before[at(kept[i])][at(s)]);
    CHECK(std::equal(wanted.begin(), wanted.end(), after[i].begin()));
  }
}

/// Merges and prunings in turn; after each, old gains are what they were and all are true.
template <class Score, class Model, class Store>
void check_store(random_source& random, const Model& model, const table& X, Store store) {
  followed_store<Score, Model, Store> followed(model, X, std::move(store));
  followed.check_against_truth();
  const int unprepared = random.chance(0.5) ? 1 : 0;
  for (int pruning = 0; pruning < 3; ++pruning) {
    auto before = followed.gains();
    if (pruning == unprepared) {
      followed.prepare_searches();
      CHECK(followed.gains() == before);
    }
    const auto old_slots = iota(followed.slots());
    for (int merges = 0; merges < 5; ++merges) {
      followed.merge(random.below(followed.slots()), random.below(followed.slots()));
    }
    check_equal_where_kept(before, followed.gains(), old_slots);
    followed.check_bounds(random);
    if (pruning >= unprepared) followed.check_searches(random);
    followed.check_kept_queries(random, some_of(random, followed.slots(), 0.9));
    before = followed.gains();
    const auto kept = some_of(random, followed.slots(), pruning == 2 ? 0.3 : 0.8);
    followed.keep(kept);
    check_equal_where_kept(before, followed.gains(), kept);
    if (followed.slots() == 0) return;
    followed.check_against_truth();
    followed.check_bounds(random);
  }
}

/// Rows that a store lends are those that would be made of the table anew, to the bit.
template <class Store>
void check_rows_lent(const Store& whole, const Store& alike, const std::vector<index_t>& taken) {
  if constexpr (detail::may_lend_rows<Store>) {
    if (!detail::lends_rows(whole)) return;
    const Store lent(whole, taken);
    REQUIRE(lent.slots() == alike.slots());
    std::vector<double> gains(taken.size()), wanted(taken.size());
    typename Store::query own, other;
    for (index_t s = 0; s < lent.slots(); ++s) {
      lent.load(own, s);
      alike.load(other, s);
      lent.row(own, 0, lent.slots(), gains.data());
      alike.row(other, 0, alike.slots(), wanted.data());
      CHECK(gains == wanted);
    }
  }
}

template <class Score, class Model>
void check_stores(random_source& random, const Model& model, const table& X) {
  check_store<Score>(random, model, X, detail::make_store<Score>(model, X.view()));
  const auto whole = detail::make_store<Score>(model, X.view());
  const auto taken = some_of(random, X.rows(), 0.6);
  const table some = X.taken(taken);
  const auto alike = [&] { return detail::make_store_alike<Score>(whole, model, some.view()); };
  check_rows_lent(whole, alike(), taken);
  check_store<Score>(random, model, some, alike());
  using plain = detail::cluster_store<typename Model::bare, Score>;
  check_store<Score>(random, model, X, plain(model.base(), X.view()));
}

template <class Score>
void check_every_family() {
  for_each_example(4, rows, 6, [](random_source& random, const any_family& family, const table& X) {
    check_stores<Score>(random, bhclust::bind(family, X.view()), X);
  });
}

/// Two blocks of the same family with a column between them that belongs to neither.
template <class Family>
bhclust::Product blocks_of(random_source& random, index_t columns) {
  const auto left = random_family<Family>(random, columns);
  const auto right = random_family<Family>(random, columns);
  bhclust::Product product;
  product.blocks.push_back({left, {}});
  product.blocks.push_back({right, {}});
  for (index_t j = 0; j < columns; ++j) {
    product.blocks[0].columns.push_back(j);
    product.blocks[1].columns.push_back(columns + 1 + j);
  }
  return product;
}

}  // namespace

TEST_CASE("stores: log Bayes factors of every family") {
  check_every_family<detail::evidence_score>();
}

TEST_CASE("stores: divergences of every family") { check_every_family<detail::relaxed_score>(); }

TEST_CASE("stores: searches among many rows of many columns, some of them equal") {
  for_each_example(1, 90, 40, [](random_source& random, const any_family& family, const table& X) {
    auto order = shuffled(random, X.rows());
    order.resize(60);
    for (int twice = 0; twice < 50; ++twice) order.push_back(order[at(random.below(40))]);
    const table Y = X.taken(order);
    auto followed = follow(bhclust::bind(family, Y.view()), Y);
    for (int pruning = 0; pruning < 3; ++pruning) {
      for (int merges = 0; merges < 25; ++merges) {
        followed.merge(random.below(followed.slots()), random.below(followed.slots()));
      }
      followed.check_searches(random);
      followed.keep(some_of(random, followed.slots(), 0.8));
    }
  });
}

TEST_CASE("stores: a cluster of all rows against itself and its parts") {
  // algorithms sweep over dead slots too, whose clusters lie inside the one that asks
  for_each_example(2, 40, 4, [](random_source&, const any_family& family, const table& X) {
    auto followed = follow(bhclust::bind(family, X.view()), X);
    followed.merge(0, 1);
    for (index_t i = 2; i < X.rows(); ++i) followed.merge(followed.slots() - 1, i);
    followed.check_against_truth();
  });
}

TEST_CASE("stores: many columns that spread far beyond the prior") {
  // a product of their variances would overflow
  constexpr index_t columns = 36;
  random_source random(7);
  std::vector<double> cells;
  for (index_t e = 0; e < 44 * columns; ++e) cells.push_back(9e4 * random.normal());
  const table X(cells, columns);
  const any_family families[] = {random_family<bhclust::NormalInverseWishart>(random, columns),
                                 random_family<bhclust::NormalInverseGamma>(random, columns),
                                 random_family<bhclust::NormalKnownVariance>(random, columns)};
  for (const auto& family : families) {
    CAPTURE(family.name());
    auto followed = follow(bhclust::bind(family, X.view()), X);
    followed.merge(0, 1);
    for (index_t i = 2; i < X.rows(); ++i) followed.merge(followed.slots() - 1, i);
    std::vector<index_t> kept;
    for (index_t s = 0; s < followed.slots(); s += 5) kept.push_back(s);
    followed.keep(kept);
    // fewer rows than columns: directions that only the prior knows are lost beside the others
    followed.check_against_truth(1e-5);
  }
}

namespace {

/// Clumps of rows, some equal, some far away, on a lattice so that gains tie.
table clumps(random_source& random, index_t n, index_t columns, double scale, double shift,
             double noise) {
  std::vector<double> cells;
  std::vector<double> centre(at(columns));
  for (index_t i = 0; i < n; ++i) {
    if (random.chance(0.1)) {
      for (auto& c : centre) c = 4.0 * std::round(3.0 * random.normal());
    }
    const double wild = random.chance(0.01) ? 1e3 : 1.0;
    for (index_t j = 0; j < columns; ++j) {
      const double step = noise > 0.0 ? noise * random.normal() : std::round(2.0 * random.normal());
      cells.push_back(shift + scale * wild * (centre[at(j)] + step));
    }
  }
  return {cells, columns};
}

table above_zero(const table& X) {
  auto cells = X.cells();
  for (auto& x : cells) x = std::fabs(x) + 1e-300;
  return {cells, X.columns()};
}

template <class Family>
index_t check_family_searches(random_source& random, const table& X, const Family& family) {
  auto followed = follow(bhclust::bind(family, X.view()), X);
  index_t searches = followed.check_searches(random, {});
  for (int round = 0; round < 3; ++round) {
    std::vector<index_t> retired;
    for (int merges = 0; merges < 60; ++merges) {
      const index_t a = random.below(followed.slots());
      const index_t b = random.below(followed.slots());
      followed.merge(a, b);
      retired.push_back(a);
      retired.push_back(b);
    }
    // a cluster that grows row by row
    index_t grown = random.below(followed.slots());
    for (int merges = 0; merges < 20; ++merges) {
      followed.merge(grown, random.below(followed.slots()));
      retired.push_back(grown);
      grown = followed.slots() - 1;
    }
    searches += followed.check_searches(random, retired);
    std::sort(retired.begin(), retired.end());
    std::vector<index_t> kept;
    for (index_t s = 0; s < followed.slots(); ++s) {
      if (!std::binary_search(retired.begin(), retired.end(), s)) kept.push_back(s);
    }
    followed.keep(kept);
    searches += followed.check_searches(random, {});
  }
  followed.keep_clusters();
  static_cast<void>(followed.gains());
  return searches + followed.check_searches(random, {});
}

}  // namespace

TEST_CASE_TEMPLATE("stores: searches find what whole rows of gains show", Family,
                   bhclust::NormalInverseWishart, bhclust::NormalInverseGamma,
                   bhclust::NormalKnownVariance, bhclust::ExponentialGamma) {
  index_t searches = 0;
  for (const index_t columns : {1, 2, 3, 5}) {
    for (const double noise : {0.0, 0.3, 2.0}) {
      for (const double scale : {1.0, 1e-120, 1e120}) {
        CAPTURE(columns);
        CAPTURE(noise);
        CAPTURE(scale);
        random_source random(static_cast<std::uint64_t>(100 * columns) +
                             static_cast<std::uint64_t>(10.0 * noise));
        auto X = clumps(random, 420, columns, scale, scale == 1.0 ? 1e5 : 0.0, noise);
        if (std::is_same_v<Family, bhclust::ExponentialGamma>) X = above_zero(X);
        searches += check_family_searches(random, X, Family::from_data(X.view()));
      }
      random_source random(static_cast<std::uint64_t>(columns));
      auto X = clumps(random, 420, columns, 1.0, 0.0, noise);
      if (std::is_same_v<Family, bhclust::ExponentialGamma>) X = above_zero(X);
      searches += check_family_searches(random, X, random_family<Family>(random, columns));
    }
  }
  CHECK(searches > 1000);
}

TEST_CASE("stores: searches among directions find what whole rows of gains show") {
  index_t searches = 0;
  for (const index_t columns : {2, 3, 9}) {
    CAPTURE(columns);
    random_source random(static_cast<std::uint64_t>(columns));
    auto cells = clumps(random, 300, columns, 1.0, 0.1, columns == 3 ? 0.0 : 0.5).cells();
    for (auto row = cells.begin(); row != cells.end(); row += columns) {
      const double length = std::sqrt(std::inner_product(row, row + columns, row, 0.0));
      std::for_each(row, row + columns, [length](double& x) { x /= length; });
    }
    const table X(cells, columns);
    searches += check_family_searches(random, X, bhclust::VonMisesFisher::from_data(X.view()));
    searches +=
        check_family_searches(random, X, random_family<bhclust::VonMisesFisher>(random, columns));
  }
  CHECK(searches > 1000);
}

TEST_CASE("stores: equal rows have equal gains") {
  for_each_example(3, rows, 4,
                   [](random_source& random, const any_family& family, const table& once) {
                     const auto order = shuffled(random, rows);
                     auto twice = iota(rows);
                     twice.insert(twice.end(), order.begin(), order.end());
                     const table X = once.taken(twice);
                     const auto gains = follow(bhclust::bind(family, X.view()), X).gains();
                     for (const auto& row : gains) {
                       for (index_t i = 0; i < rows; ++i)
                         CHECK(row[at(rows + i)] == row[at(order[at(i)])]);
                     }
                   });
}

TEST_CASE("stores: Product sums its blocks") {
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    const index_t columns = 1 + round % 2;
    const auto product = blocks_of<bhclust::NormalInverseGamma>(random, columns);
    const auto X = random_table(random, bhclust::NormalInverseGamma{}, rows, 2 * columns + 1,
                                layout::with_missing);
    const auto model = bhclust::bind(product, X.view());
    check_stores<detail::evidence_score>(random, model, X);
    check_stores<detail::relaxed_score>(random, model, X);
  }
}
