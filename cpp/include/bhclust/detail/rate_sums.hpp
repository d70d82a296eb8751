/// @file
/// What clusters of Poisson counts say of each other beyond the columns that both have counts in.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/sparse_counts.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// For stores whose columns and totals say all.
struct no_rate_sums {
  static constexpr bool any = false;
};

/// R(m) = Σ_j s_j ln(b_j + m) of rows and clusters, s the sums of counts in columns of rates b. Two
/// clusters of n_0 and n_1 rows gain R_0(n_0) + R_1(n_1) - R_0(n) - R_1(n), n = n_0 + n_1, in all
/// the columns that either has counts in.
///
/// As a function of ln m on [0, ln N] each R is a sum of Chebyshev polynomials, whose coefficients
/// are linear in s, so that those of a union are sums. ln(b + e^t) is analytic where |Im t| < π; so
/// its K coefficients are off by at most
///     4 M ρ^(1-K) / (ρ - 1),  ρ = 3/h + sqrt(1 + 9/h²),  h = ½ ln N,  M = 2 sqrt(h² + 9) + 6
/// (Bernstein's ellipse up to |Im t| = 3, where ln(b + e^t), but for a linear function, is at most
/// M), for each count.
class rate_sums {
 public:
  static constexpr bool any = true;

  rate_sums(std::vector<double> rates, index_t rows) : rates_(std::move(rates)) {
    half_ = 0.5 * std::log(static_cast<double>(std::max<index_t>(rows, 2)));
    const double below = choose_terms();
    double largest = 1.0;
    for (const double b : rates_) {
      largest = std::fmax(largest, std::fabs(std::log(b)));
      largest = std::fmax(largest, std::log(b + static_cast<double>(rows)));
    }
    const auto sums = static_cast<double>(rows + columns() + 8 * terms_);
    largest_ = largest;
    a_count_ = below + 1e-15 * sums * largest;
    expand_rates();
  }

  /// The rows in their order, before anything else.
  void add_row(const sparse_counts& row) {
    const auto c = coefficients(row);
    of_rows_.insert(of_rows_.end(), c.begin(), c.end());
    alone_.push_back(exact(row, 1.0));
    largest_row_ = std::fmax(largest_row_, counts_of(row));
  }
  /// All rows are there.
  void end_rows() {
    column_.clear();
    column_.shrink_to_fit();
    turn();
    pairs_ = terms_of_rows(1.0);
  }
  void keep_rows(const std::vector<index_t>& kept) {
    for (auto& term : by_term_) keep_entries(term, kept);
    keep_entries(alone_, kept);
    keep_entries(pairs_, kept);
  }

  /// A union of a and b (rows below 0: -1 - row).
  void merge(index_t a, index_t b) {
    auto sum = of(a);
    const auto more = of(b);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += more[k];
    of_clusters_.insert(of_clusters_.end(), sum.begin(), sum.end());
  }
  void keep_clusters(const std::vector<index_t>& kept) { keep_records(of_clusters_, terms_, kept); }

  /// Coefficients of a cluster, or of a row (-1 - row).
  [[nodiscard]] std::vector<double> of(index_t cluster) const {
    if (cluster >= 0) {
      const auto from = of_clusters_.begin() + static_cast<std::ptrdiff_t>(cluster * terms_);
      return {from, from + terms_};
    }
    std::vector<double> c;
    for (const auto& term : by_term_) c.push_back(term[at(-1 - cluster)]);
    return c;
  }

  /// -R(n) of a union's counts: what it adds to its log marginal likelihood.
  [[nodiscard]] double log_marginal(const sparse_counts& a, const sparse_counts& b) const {
    const double n = a.total.count + b.total.count;
    double sum = 0.0;
    for_each_column(a.cells, b.cells,
                    [&](std::uint32_t j, const count_sums& s, const count_sums& t) {
                      sum += (s.count + t.count) * std::log(rates_[j] + n);
                    });
    return -sum;
  }

  /// What two clusters gain, not from their unions but from each cluster's change.
  [[nodiscard]] double gain(const sparse_counts& a, const sparse_counts& b) const {
    return -(rise(a, b.total.count) + rise(b, a.total.count));
  }

  /// The gain of clusters with these coefficients, numbers of rows, and R of each alone; off by
  /// rounding(counts of both) at most.
  [[nodiscard]] double about_gain(const std::vector<double>& q, index_t cluster, double n,
                                  double alone) const {
    const double* c = of_clusters_.data() + cluster * terms_;
    const double x = 2.0 * place(n);
    double one = 0.0;
    double two = 0.0;
    for (index_t k = terms_ - 1; k > 0; --k) {
      const double next = x * one - two + (q[at(k)] + c[k]);
      two = one;
      one = next;
    }
    return alone - (0.5 * x * one - two + (q[0] + c[0]));
  }

  /// The gains of a cluster of n rows with all rows, but for what the cluster alone says.
  [[nodiscard]] std::vector<double> terms_of_rows(double n) const {
    const auto t = polynomials(n + 1.0);
    std::vector<double> out = alone_;
    constexpr index_t step = 512;
    const auto rows = static_cast<index_t>(out.size());
    pacer pace;
    for (index_t begin = 0; begin < rows; begin += step) {
      const index_t end = std::min(rows, begin + step);
      pace((end - begin) * terms_);
      for (std::size_t k = 0; k < t.size(); ++k) {
        for (index_t i = begin; i < end; ++i) out[at(i)] -= t[k] * by_term_[k][at(i)];
      }
    }
    return out;
  }
  /// terms_of_rows(1).
  [[nodiscard]] const std::vector<double>& pairs_of_rows() const noexcept { return pairs_; }
  /// What they leave out.
  [[nodiscard]] double about_rise(const std::vector<double>& q, double n, double alone) const {
    const auto t = polynomials(n + 1.0);
    double sum = 0.0;
    for (std::size_t k = 0; k < t.size(); ++k) sum += t[k] * q[k];
    return alone - sum;
  }

  [[nodiscard]] double exact(const sparse_counts& a, double n) const {
    double sum = 0.0;
    for (const auto& cell : a.cells) sum += cell.sums.count * std::log(rates_[cell.column] + n);
    return sum;
  }

  [[nodiscard]] static double counts_of(const sparse_counts& a) noexcept {
    double sum = 0.0;
    for (const auto& cell : a.cells) sum += cell.sums.count;
    return sum;
  }
  [[nodiscard]] double rounding(double counts) const noexcept { return a_count_ * counts; }
  [[nodiscard]] double largest_row() const noexcept { return largest_row_; }
  /// |R| is at most so much a count.
  [[nodiscard]] double size_of_count() const noexcept { return largest_; }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t columns() const noexcept { return static_cast<index_t>(rates_.size()); }

  /// Where ln n lies on the way from 0 (-1) to ln N (1).
  [[nodiscard]] double place(double n) const noexcept { return std::log(n) / half_ - 1.0; }

  /// Returns what a count's ln(b + m) is off by.
  [[nodiscard]] double choose_terms() {
    constexpr double fine = 1e-9;
    constexpr index_t most = 96;
    const double slope = 3.0 / half_;
    const double rho = slope + std::sqrt(1.0 + slope * slope);
    double off = 4.0 * (2.0 * std::sqrt(half_ * half_ + 9.0) + 6.0) / (rho - 1.0);
    for (terms_ = 1; off > fine && terms_ < most; ++terms_) off /= rho;
    return off;
  }

  void expand_rates() {
    constexpr double pi = 3.141592653589793;
    std::vector<double> cosines, sizes;
    const auto count = static_cast<double>(terms_);
    for (index_t i = 0; i < terms_; ++i) {
      const double angle = pi * (static_cast<double>(i) + 0.5) / count;
      sizes.push_back(std::exp(half_ * (std::cos(angle) + 1.0)));
      for (index_t k = 0; k < terms_; ++k) {
        cosines.push_back((k == 0 ? 1.0 : 2.0) / count * std::cos(static_cast<double>(k) * angle));
      }
    }
    column_.assign(at(columns() * terms_), 0.0);
    pacer pace;
    for (index_t j = 0; j < columns(); ++j) {
      pace(terms_ * terms_);
      double* c = column_.data() + j * terms_;
      for (index_t i = 0; i < terms_; ++i) {
        const double value = std::log(rates_[at(j)] + sizes[at(i)]);
        for (index_t k = 0; k < terms_; ++k) c[k] += value * cosines[at(i * terms_ + k)];
      }
    }
  }

  [[nodiscard]] std::vector<double> coefficients(const sparse_counts& a) const {
    std::vector<double> sum(at(terms_), 0.0);
    for (const auto& cell : a.cells) {
      const double* c = column_.data() + static_cast<index_t>(cell.column) * terms_;
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += cell.sums.count * c[k];
    }
    return sum;
  }

  /// Rows' coefficients from row by row to term by term.
  void turn() {
    const std::size_t rows = alone_.size();
    by_term_.assign(at(terms_), std::vector<double>(rows));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < by_term_.size(); ++k) {
        by_term_[k][i] = of_rows_[i * by_term_.size() + k];
      }
    }
    of_rows_ = {};
  }

  [[nodiscard]] std::vector<double> polynomials(double n) const {
    const double x = place(n);
    std::vector<double> t{1.0, x};
    while (static_cast<index_t>(t.size()) < terms_) {
      t.push_back(2.0 * x * t[t.size() - 1] - t[t.size() - 2]);
    }
    t.resize(at(terms_));
    return t;
  }

  /// R(n + more) - R(n).
  [[nodiscard]] double rise(const sparse_counts& a, double more) const {
    double sum = 0.0;
    for (const auto& cell : a.cells) {
      sum += cell.sums.count * std::log1p(more / (rates_[cell.column] + a.total.count));
    }
    return sum;
  }

  std::vector<double> rates_;
  double half_ = 1.0;  ///< of ln N
  index_t terms_ = 0;
  double largest_ = 0.0;
  double a_count_ = 0.0;  ///< what R is off by, for each count
  double largest_row_ = 0.0;
  std::vector<double> column_;                ///< coefficients of ln(b_j + m), until rows are there
  std::vector<double> of_rows_;               ///< row by row, until they are there
  std::vector<std::vector<double>> by_term_;  ///< of rows
  std::vector<double> alone_, pairs_;         ///< of rows: R(1), terms_of_rows(1)
  std::vector<double> of_clusters_;
};

}  // namespace bhclust::detail
