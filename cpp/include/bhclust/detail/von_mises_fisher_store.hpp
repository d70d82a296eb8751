/// @file
/// Searches among directions: cheap bounds first, Bessel functions only of what these leave.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// Upper bounds of an increasing concave function F(x) on [0, most]: tangents at 64 points an
/// octave; below 2^-64 of the largest x that at 0.
class tangent_table {
 public:
  /// `value(x)` and `slope(x)` are those of F, `slope(0)` included, F(0) = 0.
  template <class Value, class Slope>
  tangent_table(double most, const Value& value, const Slope& slope) {
    constexpr int octaves = 64;
    const double top = std::ldexp(1.0, std::ilogb(most) + 1);
    first_ = step_of(std::ldexp(top, -octaves));
    pacer pace;
    for (std::uint64_t step = first_; step <= step_of(top); ++step) {
      pace(4096);
      const double x = step == first_ ? 0.0 : middle_of_step(step);
      const double rise = slope(x);
      intercept_.push_back(x == 0.0 ? 0.0 : value(x) - rise * x);
      slope_.push_back(rise);
    }
  }

  /// For 0 <= x <= most.
  [[nodiscard]] double operator()(double x) const noexcept {
    const std::uint64_t step = step_of(x);
    const auto i = static_cast<std::size_t>(step > first_ ? step - first_ : 0);
    return intercept_[i] + slope_[i] * x;
  }

 private:
  static constexpr unsigned dropped = 52 - 6;  ///< bits of a double that a step does not tell apart

  [[nodiscard]] static std::uint64_t step_of(double x) noexcept {
    return same_bits<std::uint64_t>(x) >> dropped;
  }
  [[nodiscard]] static double middle_of_step(std::uint64_t step) noexcept {
    return same_bits<double>((step << dropped) + (std::uint64_t{1} << (dropped - 1)));
  }

  std::uint64_t first_;
  std::vector<double> intercept_, slope_;
};

/// The plain store, and beside it what bounds of gains need: with R = pull + kappa Σx of a cluster,
///     gain(a, b) = F(|R_ab|²) + constant · n_ab - score(a) - score(b),
/// F increasing and concave. Answers are the plain store's to the last bit.
///
/// Records: kappa Σx, its square, n, score.
template <class Model>
class von_mises_fisher_store {
  using plain = cluster_store<Model, evidence_score>;

 public:
  struct query {
    typename plain::query exact;
    std::vector<double> resultant;
    double square = 0.0, n = 0.0;
  };

  von_mises_fisher_store(const Model& model, const table_view& X)
      : model_(model),
        exact_(model, X),
        upper_(model.upper_bounds(2 * X.rows())),
        records_(model.width() + 2),
        rows_(X.rows()) {
    records_.reserve(X.rows());
    pacer pace;
    for (index_t s = 0; s < rows_; ++s) {
      pace(8 * model.width());
      append(s);
    }
  }

  [[nodiscard]] index_t query_width() const noexcept {
    return exact_.query_width() + model_.width() + 2;
  }
  [[nodiscard]] static bool searches() noexcept { return true; }
  [[nodiscard]] index_t slots() const noexcept { return exact_.slots(); }

  void load(query& q, index_t slot) const {
    exact_.load(q.exact, slot);
    const double* t = exact_.statistics(slot);
    q.n = t[0];
    q.square = 0.0;
    q.resultant.resize(static_cast<std::size_t>(d()));
    for (index_t j = 0; j < d(); ++j) {
      const double r = model_.pull(j) + model_.kappa() * t[1 + j];
      q.resultant[static_cast<std::size_t>(j)] = r;
      q.square += r * r;
    }
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    exact_.row(q.exact, begin, end, out);
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    std::vector<double> scratch(static_cast<std::size_t>(exact_.width()));
    const index_t split = std::clamp(rows_, begin, end);
    sweep(q, split, end, offset, best, scratch.data());
    sweep(q, begin, split, [row = offset.row()](index_t) { return row; }, best, scratch.data());
  }

  void retire(index_t slot) noexcept { retired_[static_cast<std::size_t>(slot)] = 1; }

  index_t merge(index_t a, index_t b) {
    const index_t made = exact_.merge(a, b);
    append(made);
    return made;
  }

  void keep(const std::vector<index_t>& kept) {
    exact_.keep(kept);
    records_.keep(kept.data(), static_cast<index_t>(kept.size()));
    keep_entries(retired_, kept);
    rows_ = std::lower_bound(kept.begin(), kept.end(), rows_) - kept.begin();
  }

 private:
  [[nodiscard]] index_t d() const noexcept { return model_.width() - 1; }

  void append(index_t slot) {
    const double* t = exact_.statistics(slot);
    std::vector<double> record;
    double square = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      record.push_back(model_.kappa() * t[1 + j]);
      square += record.back() * record.back();
    }
    record.push_back(square);
    record.push_back(t[0]);
    record.push_back(evidence_score::self(model_, t));
    records_.append(record.data());
    retired_.push_back(0);
  }

  /// Scores what the bounds leave.
  template <class Offset>
  void sweep(const query& q, index_t begin, index_t end, const Offset& offset, cheapest& best,
             double* scratch) const {
    pacer pace;
    for (index_t s = begin; s < end;) {
      pace(4 * lanes::count * (d() + 8));
      const index_t first = s / lanes::count * lanes::count;
      const index_t stop = std::min(end, first + lanes::count);
      const auto bound = bounds(q, records_.block(first / lanes::count));
      for (; s < stop; ++s) {
        const double least = offset(s) - bound[static_cast<std::size_t>(s - first)];
        if (least > best.cost || retired_[static_cast<std::size_t>(s)] != 0) continue;
        best.take(offset(s) - exact_.gain(q.exact, s, scratch), s);
      }
    }
  }

  /// At least the gains of eight clusters, with what rounding may do.
  [[nodiscard]] std::array<double, lanes::count> bounds(const query& q,
                                                        const double* block) const noexcept {
    constexpr index_t w = lanes::count;
    constexpr double rounding = 1e-12;
    lanes square = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes r = lanes::load(block + j * w) + q.resultant[static_cast<std::size_t>(j)];
      square = square + r * r;
    }
    const lanes size = lanes::load(block + d() * w) + q.square;
    std::array<double, lanes::count> x{};
    (square + size * rounding).store(x.data());
    for (auto& value : x) value = upper_(value);
    const lanes of_union = lanes::load(x.data());
    const lanes of_sizes = (lanes::load(block + (d() + 1) * w) + q.n) * model_.row_constant();
    const lanes apart = lanes::load(block + (d() + 2) * w) + q.exact.self;
    const lanes gain = of_union - model_.prior_excess() - of_sizes - apart;
    const lanes terms = of_union + size_of(of_sizes) + size_of(apart) +
                        size_of(apart - q.exact.self) +
                        (std::fabs(q.exact.self) + model_.prior_excess() + 1.0);
    (gain + terms * rounding).store(x.data());
    return x;
  }

  Model model_;
  plain exact_;
  tangent_table upper_;
  lane_table records_;
  std::vector<unsigned char> retired_;
  index_t rows_;
};

}  // namespace bhclust::detail
