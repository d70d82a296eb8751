/// @file
/// Tables of reals with all that makes a Gaussian family's arithmetic hard, and what every fast
/// store must do.
#pragma once

#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/family.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace gaussian {

using bhclust::index_t;

struct table {
  std::string kind;
  index_t n, d;
  std::vector<double> cells;

  [[nodiscard]] bhclust::table_view view() const { return bhclust::rows(cells.data(), n, d); }
};

/// A mixture of four Gaussians with the spread 1 in each.
inline table mixture(index_t n, index_t d, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> centres(static_cast<std::size_t>(4 * d));
  for (double& c : centres) c = 5.0 * normal(random);
  table made{"mixture", n, d, {}};
  for (index_t i = 0; i < n; ++i) {
    const double* centre = centres.data() + static_cast<index_t>(random() % 4) * d;
    for (index_t j = 0; j < d; ++j) made.cells.push_back(centre[j] + normal(random));
  }
  return made;
}

inline table shifted(table t, const std::string& kind, double scale, double offset) {
  t.kind = kind;
  for (double& x : t.cells) x = scale * (x + offset);
  return t;
}

/// Duplicate rows, a constant column, offsets, scales, a wild row.
inline std::vector<table> hard(index_t n, index_t d) {
  std::vector<table> all{mixture(n, d, 1)};
  all.push_back(shifted(mixture(n, d, 2), "offset 1e6", 1.0, 1e6));
  all.push_back(shifted(mixture(n, d, 3), "offset 1e8", 1.0, 1e8));
  all.push_back(shifted(mixture(n, d, 4), "tiny", 1e-30, 3.0));
  all.push_back(shifted(mixture(n, d, 5), "huge", 1e30, -3.0));
  table copies = shifted(mixture(n, d, 6), "duplicates", 1.0, 0.0);
  for (std::size_t c = 0; c < copies.cells.size(); ++c) {
    if (c >= copies.cells.size() / 3)
      copies.cells[c] = copies.cells[c % static_cast<std::size_t>(3 * d)];
  }
  all.push_back(copies);
  table constant = shifted(mixture(n, d, 7), "constant column", 1.0, 0.0);
  for (index_t i = 0; i < n; ++i) constant.cells[static_cast<std::size_t>(i * d)] = 4.7;
  all.push_back(constant);
  table wild = shifted(mixture(n, d, 8), "wild row", 1.0, 0.0);
  wild.cells[static_cast<std::size_t>(d)] = 1e5;
  all.push_back(wild);
  return all;
}

/// The table with every `step`-th cell missing, and a row and a column with none left.
inline table with_holes(table t, std::size_t step) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  t.kind += ", holes";
  for (std::size_t c = 1; c < t.cells.size(); c += step) t.cells[c] = nan;
  for (index_t j = 0; j < t.d; ++j) t.cells[static_cast<std::size_t>(2 * t.d + j)] = nan;
  for (index_t i = 0; t.d > 2 && i < t.n; ++i) t.cells[static_cast<std::size_t>(i * t.d + 2)] = nan;
  return t;
}

/// The model without its own store.
template <class Model>
struct plain_model {
  Model model;

  [[nodiscard]] index_t width() const { return model.width(); }
  void observe(const bhclust::row_view& row, double* t) const { model.observe(row, t); }
  [[nodiscard]] double log_marginal(const double* t) const { return model.log_marginal(t); }
  void merge(double* t, const double* s) const { model.merge(t, s); }
};

template <class Family>
struct plain {
  Family family;

  [[nodiscard]] bhclust::domain takes() const { return Family::takes(); }
  [[nodiscard]] auto bind(index_t columns) const {
    using model = decltype(family.bind(columns));
    return plain_model<model>{family.bind(columns)};
  }
};

/// Every gain of the family's store against the plain store's, after each of a series of random
/// merges with forgotten clusters between them; gains must not depend on the bounds of a call.
template <class Family>
void check_store(const Family& family, const table& t, double tolerance) {
  using bhclust::detail::evidence_score;
  INFO(t.kind << ", " << t.n << " x " << t.d);
  const auto model = bhclust::bind(family, t.view());
  const auto slow_model = bhclust::bind(plain<Family>{family}, t.view());
  auto fast = bhclust::detail::make_store<evidence_score>(model, t.view());
  auto slow = bhclust::detail::make_store<evidence_score>(slow_model, t.view());
  typename decltype(fast)::query q;
  typename decltype(slow)::query p;
  std::mt19937_64 random(17);
  std::vector<index_t> live;
  for (index_t s = 0; s < t.n; ++s) live.push_back(s);
  const auto draw = [&] {
    const auto place = static_cast<std::ptrdiff_t>(random() % live.size());
    const index_t s = live[static_cast<std::size_t>(place)];
    live.erase(live.begin() + place);
    return s;
  };
  while (live.size() > 1) {
    const index_t end = fast.slots();
    const index_t of = live[random() % live.size()];
    const auto part = static_cast<index_t>(random() % static_cast<std::uint64_t>(end));
    std::vector<double> found(static_cast<std::size_t>(end)), wanted(found), pieces(found);
    fast.load(q, of);
    slow.load(p, of);
    fast.row(q, 0, end, found.data());
    slow.row(p, 0, end, wanted.data());
    fast.row(q, part, end, pieces.data() + part);
    fast.row(q, 0, part, pieces.data());
    CHECK(pieces == found);
    for (const index_t s : live) {
      const auto at = static_cast<std::size_t>(s);
      if (s == of) continue;
      CHECK(std::fabs(found[at] - wanted[at]) <= tolerance * (1.0 + std::fabs(wanted[at])));
    }
    const index_t a = draw();
    const index_t b = draw();
    live.push_back(fast.merge(a, b));
    REQUIRE(slow.merge(a, b) == live.back());
    if (random() % 8 == 0) {
      std::sort(live.begin(), live.end());
      fast.keep(live);
      slow.keep(live);
      for (std::size_t s = 0; s < live.size(); ++s) live[s] = static_cast<index_t>(s);
    }
  }
}

/// The greedy tree, merge by merge, with and without the family's store.
template <class Family>
void check_trees(const Family& family, const table& t) {
  INFO(t.kind);
  const auto fast = bhclust::greedy_bhc(t.view(), family);
  const auto slow = bhclust::greedy_bhc(t.view(), plain<Family>{family});
  CHECK(fast.children() == slow.children());
  for (std::size_t m = 0; m < slow.cost().size(); ++m) {
    CHECK(fast.cost()[m] == doctest::Approx(slow.cost()[m]).epsilon(1e-9));
  }
}

/// The statistics of rows [begin, end).
template <class Model>
std::vector<double> statistics(const Model& model, const table& t, index_t begin, index_t end) {
  std::vector<double> s(static_cast<std::size_t>(model.width()), 0.0);
  for (index_t i = begin; i < end; ++i) model.observe(t.view().row(i), s.data());
  return s;
}

/// d* >= 0, the same to the last bit both ways round, what the potential says, and free of units.
template <class Family>
void check_divergence(double tolerance) {
  for (const auto& t : hard(40, 3)) {
    INFO(t.kind);
    const auto model = bhclust::bind(Family::from_data(t.view()), t.view());
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    for (const index_t split : {1, 2, 7, 20, 39}) {
      const auto a = statistics(model, t, 0, split);
      const auto b = statistics(model, t, split, t.n);
      auto both = a;
      model.merge(both.data(), b.data());
      const double d = model.divergence(a.data(), b.data(), scratch.data());
      CHECK(d >= 0.0);
      CHECK(d == model.divergence(b.data(), a.data(), scratch.data()));
      const double potentials[] = {model.base().potential(a.data()),
                                   model.base().potential(b.data()),
                                   model.base().potential(both.data())};
      const double size =
          std::fabs(potentials[0]) + std::fabs(potentials[1]) + std::fabs(potentials[2]);
      CHECK(std::fabs(potentials[0] + potentials[1] - potentials[2] - d) <=
            tolerance * (1.0 + size));
      CHECK(model.divergence(a.data(), a.data(), scratch.data()) == 0.0);
    }
  }
}

/// Columns in other units (powers of two, so that nothing is rounded) give the same d*.
template <class Family>
void check_units() {
  const auto t = mixture(30, 3, 11);
  auto u = t;
  for (std::size_t c = 0; c < u.cells.size(); ++c)
    u.cells[c] *= std::ldexp(1.0, static_cast<int>(c % 3) * 40 - 30);
  const auto of = [](const table& x) {
    const auto model = bhclust::bind(Family::from_data(x.view()), x.view());
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    return model.divergence(statistics(model, x, 0, 11).data(), statistics(model, x, 11, 30).data(),
                            scratch.data());
  };
  CHECK(of(u) == doctest::Approx(of(t)).epsilon(1e-12));
}

/// Defaults that any table gets: they bind, and the tree has no NaN in it.
template <class Family>
void check_defaults(const table& t) {
  INFO(t.kind << ", " << t.n << " x " << t.d);
  const auto family = Family::from_data(t.view());
  const auto tree = bhclust::greedy_bhc(t.view(), family);
  for (const double cost : tree.cost()) CHECK(std::isfinite(cost));
}

inline std::vector<table> odd_tables() {
  auto all = hard(12, 3);
  all.push_back({"one row", 1, 2, {3.0, -1e9}});
  all.push_back({"two rows", 2, 2, {3.0, 5.0, 3.0, 6.0}});
  all.push_back({"two equal rows", 2, 2, {3.0, 5.0, 3.0, 5.0}});
  all.push_back({"zeros", 5, 2, std::vector<double>(10, 0.0)});
  all.push_back(mixture(4, 11, 12));
  all.push_back(shifted(mixture(6, 2, 13), "smallest", 1e-170, 0.0));
  all.push_back(shifted(mixture(6, 2, 14), "largest", 1e147, 0.0));
  table last_digits{"last digits", 8, 1, {}};
  for (int i = 0; i < 8; ++i) last_digits.cells.push_back(1e8 + std::ldexp(i % 3, -26));
  all.push_back(last_digits);
  table spike{"spike", 30, 1, std::vector<double>(30, 0.0)};
  spike.cells[3] = 7.5;
  all.push_back(spike);
  return all;
}

}  // namespace gaussian
