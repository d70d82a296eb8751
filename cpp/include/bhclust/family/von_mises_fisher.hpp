/// @file
/// Directions: unit rows with density C_d(kappa) exp(kappa μ·x), kappa known, and the von
/// Mises-Fisher or the uniform prior on the mean direction μ.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/direction_screen.hpp>
#include <bhclust/detail/directions.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/detail/von_mises_fisher_store.hpp>
#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/progress.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: n, Σx.
class von_mises_fisher_model {
  using self = von_mises_fisher_model;

 public:
  template <class Score>
  using store = std::conditional_t<
      Score::kind == score_kind::evidence, von_mises_fisher_store<self>,
      store_of_screen<self, direction_screen<self>, Score, cluster_store<self, Score>>>;

  /// `pull` is prior_kappa times the prior mean direction.
  von_mises_fisher_model(double kappa, double prior_kappa, std::vector<double> pull)
      : columns_(static_cast<index_t>(pull.size())),
        kappa_(kappa),
        pull_(std::move(pull)),
        prior_excess_(log_vmf_excess(prior_kappa, columns_)),
        row_constant_(log_sphere_area(columns_) + log_vmf_excess(kappa, columns_)) {}

  [[nodiscard]] index_t columns() const noexcept { return columns_; }
  [[nodiscard]] index_t width() const noexcept { return columns_ + 1; }
  [[nodiscard]] double kappa() const noexcept { return kappa_; }
  [[nodiscard]] double pull(index_t j) const noexcept { return pull_[static_cast<std::size_t>(j)]; }
  [[nodiscard]] double prior_excess() const noexcept { return prior_excess_; }
  [[nodiscard]] double row_constant() const noexcept { return row_constant_; }

  /// Of -log C(‖R‖) relative to the uniform density's, by ‖R‖², for clusters of up to n rows. It is
  /// concave in ‖R‖², as A(κ) / κ falls.
  [[nodiscard]] tangent_table upper_bounds(index_t n) const {
    double square = 0.0;
    for (const double p : pull_) square += p * p;
    constexpr double longer = 1.01;  // than unit rows and their rounding
    const double length = longer * (std::sqrt(square) + kappa_ * static_cast<double>(n));
    return {length * length, [&](double x) { return log_vmf_excess(std::sqrt(x), columns_); },
            [&](double x) {
              const double root = std::sqrt(x);
              return x > 0.0 ? 0.5 * mean_length(root) / root : 0.5 / static_cast<double>(columns_);
            }};
  }

  static void observe(const row_view& row, double* t) noexcept {
    t[0] += 1.0;
    add_row(row, t + 1);
  }

  /// Σx is no longer than n rows.
  [[nodiscard]] bool possible(const double* t, index_t rows) const noexcept {
    double square = 0.0;
    for (index_t j = 0; j < columns_; ++j) square += t[1 + j] * t[1 + j];
    constexpr double longest = 1.0 + 2.0 * unit_tolerance;
    return t[0] == static_cast<double>(rows) && std::sqrt(square) <= longest * t[0];
  }

  /// log C(prior_kappa) - log C(‖pull + kappa Σx‖) + n log C(kappa), relative to the uniform
  /// density's constant, which is large in high dimensions.
  [[nodiscard]] double log_marginal(const double* t) const {
    if (t[0] == 0.0) return 0.0;
    double square = 0.0;
    for (index_t j = 0; j < columns_; ++j) {
      const double p = pull_[static_cast<std::size_t>(j)] + kappa_ * t[1 + j];
      square += p * p;
    }
    return (log_vmf_excess(std::sqrt(square), columns_) - prior_excess_) - t[0] * row_constant_;
  }

  /// Fields: kappa, mean_direction (not learned: 0), prior_kappa. With A = d log(1 / C) / dκ, the
  /// mean resultant length: ∂/∂kappa = A(R) R·Σx / ‖R‖ - n A(kappa), ∂/∂prior_kappa = A(R) R·μ /
  /// ‖R‖ - A(prior_kappa), where R = pull + kappa Σx.
  [[nodiscard]] index_t gradient_size() const noexcept { return columns_ + 2; }

  void add_gradient(const double* t, double weight, double* g) const noexcept {
    if (t[0] == 0.0) return;
    double square = 0.0;
    double along_sum = 0.0;
    double along_pull = 0.0;
    double pull_square = 0.0;
    for (index_t j = 0; j < columns_; ++j) {
      const double pull = pull_[static_cast<std::size_t>(j)];
      const double p = pull + kappa_ * t[1 + j];
      square += p * p;
      along_sum += p * t[1 + j];
      along_pull += p * pull;
      pull_square += pull * pull;
    }
    const double length = std::sqrt(square);
    const double prior_kappa = std::sqrt(pull_square);
    const double pulled = length > 0.0 ? mean_length(length) / length : 0.0;
    g[0] += weight * (pulled * along_sum - t[0] * mean_length(kappa_));
    if (prior_kappa > 0.0) {
      g[columns_ + 1] += weight * (pulled * along_pull / prior_kappa - mean_length(prior_kappa));
    }
  }

  /// A(kappa) A(‖R‖) R / ‖R‖ with R = pull + kappa Σx: inside the sphere.
  void predictive_mean(const double* t, double* out) const noexcept {
    const double length = resultant(t, out);
    const double shorter =
        length > 0.0 ? mean_length(kappa_) * (mean_length(length) / length) : 0.0;
    for (index_t j = 0; j < columns_; ++j) out[j] *= shorter;
  }

  /// The cluster's mean direction is von Mises-Fisher about R with concentration ‖R‖.
  void sample(const double* t, random_source& random, double* row) const {
    const double length = resultant(t, row);
    if (length > 0.0) {
      for (index_t j = 0; j < columns_; ++j) row[j] /= length;
    }
    std::vector<double> scratch(static_cast<std::size_t>(columns_));
    draw_direction(random, length, columns_, row, scratch.data());
    draw_direction(random, kappa_, columns_, row, scratch.data());
  }

  /// Coordinates depend on each other through the length ‖R‖ alone. Its term is borne by them in
  /// proportion to R_j², that of the prior likewise, so that a column's term is about kappa Σ x_j
  /// R_j / ‖R‖; what depends on the number of rows alone is borne by all alike.
  void column_terms(const double* t, const index_t* /*order*/, double* out) const {
    const auto d = static_cast<double>(columns_);
    if (t[0] == 0.0) {
      std::fill_n(out, columns_, 0.0);
      return;
    }
    const double length = resultant(t, out);
    const double of_length = log_vmf_excess(length, columns_);
    double pull_square = 0.0;
    for (const double pull : pull_) pull_square += pull * pull;
    for (index_t j = 0; j < columns_; ++j) {
      const double pull = pull_[static_cast<std::size_t>(j)];
      const double part = length > 0.0 ? (out[j] / length) * (out[j] / length) : 0.0;
      const double prior = pull_square > 0.0 ? pull * pull / pull_square : 1.0 / d;
      out[j] = (part * of_length - prior * prior_excess_) - t[0] * (row_constant_ / d);
    }
  }

  /// kappa ‖Σx‖.
  [[nodiscard]] double potential(const double* t) const noexcept {
    return kappa_ * std::sqrt(square_norm(t));
  }

  /// kappa (‖S‖ + ‖S'‖ - ‖S + S'‖), from the distance of the two mean directions.
  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    const double length_t = std::sqrt(square_norm(t));
    const double length_s = std::sqrt(square_norm(s));
    if (length_t == 0.0 || length_s == 0.0) return 0.0;
    double square = 0.0;
    double gap = 0.0;
    for (index_t j = 1; j <= columns_; ++j) {
      const double sum = t[j] + s[j];
      const double apart = t[j] / length_t - s[j] / length_s;
      square += sum * sum;
      gap += apart * apart;
    }
    return kappa_ * (length_t * length_s) * gap / (length_t + length_s + std::sqrt(square));
  }

 private:
  /// The mean resultant length I_{d/2}(κ) / I_{d/2-1}(κ).
  [[nodiscard]] double mean_length(double kappa) const noexcept {
    return bessel_ratio(0.5 * static_cast<double>(columns_) - 1.0, kappa);
  }

  /// R; its length.
  double resultant(const double* t, double* r) const noexcept {
    double square = 0.0;
    for (index_t j = 0; j < columns_; ++j) {
      r[j] = pull_[static_cast<std::size_t>(j)] + kappa_ * t[1 + j];
      square += r[j] * r[j];
    }
    return std::sqrt(square);
  }

  [[nodiscard]] double square_norm(const double* t) const noexcept {
    double square = 0.0;
    for (index_t j = 1; j <= columns_; ++j) square += t[j] * t[j];
    return square;
  }

  index_t columns_;
  double kappa_;
  std::vector<double> pull_;
  double prior_excess_, row_constant_;
};

}  // namespace detail

/// Unit rows with a von Mises-Fisher distribution of known concentration.
struct VonMisesFisher {
  parameter kappa = 1.0;
  parameter mean_direction = 0.0;  ///< the scalar 0: not given
  parameter prior_kappa = 0.0;

  static constexpr const char* doc =
      "Directions: rows of length 1 (embeddings, normalised profiles), dense or CSR. Von "
      "Mises-Fisher with known concentration kappa; the mean direction is uniform on the sphere "
      "(prior_kappa = 0), or von Mises-Fisher about mean_direction.";

  [[nodiscard]] static const char* name() { return "VonMisesFisher"; }
  [[nodiscard]] static domain takes() { return {cell::real, false, true}; }
  [[nodiscard]] static std::array<parameter_field<VonMisesFisher>, 3> parameters() {
    return {{{"kappa", &VonMisesFisher::kappa, range::positive, shape::scalar,
              "concentration of the rows about their cluster's mean direction"},
             {"mean_direction", &VonMisesFisher::mean_direction, range::real, shape::per_column,
              "prior mean direction, of length 1; 0 if there is none"},
             {"prior_kappa", &VonMisesFisher::prior_kappa, range::non_negative, shape::scalar,
              "concentration of the clusters' mean directions; 0 is uniform"}}};
  }

  /// A uniform prior. kappa lies between two estimates: that of the table taken as one cluster,
  /// from its mean resultant length, and that of each row and its nearest neighbour taken as a
  /// cluster; their geometric mean found the classes of real tables best. O(rows columns).
  [[nodiscard]] static VonMisesFisher from_data(const table_view& X) {
    check_table(X, takes(), name());
    check(X);
    const double loose = detail::square_resultant(X);
    const double tight = std::fmax(detail::mean_nearest_cosine(X), loose);
    const auto d = static_cast<double>(X.columns());
    const double kappa = std::sqrt(detail::concentration_of_resultant(loose, d) *
                                   detail::concentration_of_resultant(tight, d));
    return {kappa, 0.0, 0.0};
  }

  /// Refuses rows that are not of length 1.
  static void check(const table_view& X) {
    detail::pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(2 * X.row(i).stored());
      const double length = detail::norm(X.row(i));
      require(std::fabs(length - 1.0) <= detail::unit_tolerance, [&] {
        return "X: row " + std::to_string(i) + " has length " + detail::number(length) +
               "; VonMisesFisher takes rows of length 1: " +
               (length > 0.0 ? "divide each row by its length"
                             : "a zero row has no direction, drop it");
      });
    }
  }

  [[nodiscard]] auto bind(index_t columns) const {
    constexpr double sharpest = 1e10;
    for (const double k : {kappa[0], prior_kappa[0]}) {
      require(k <= sharpest, [&] {
        return "kappa or prior_kappa is " + detail::number(k) +
               "; they must be at most 1e10, beyond which directions lose their digits";
      });
    }
    check_mean_direction();
    std::vector<double> pull;
    for (index_t j = 0; j < columns; ++j) pull.push_back(prior_kappa[0] * mean_direction[j]);
    return detail::von_mises_fisher_model(kappa[0], prior_kappa[0], std::move(pull));
  }

 private:
  void check_mean_direction() const {
    if (mean_direction == parameter(0.0)) {
      require(prior_kappa[0] == 0.0, [&] {
        return "mean_direction is not given, but prior_kappa is " + detail::number(prior_kappa[0]) +
               ": give a mean direction, or prior_kappa = 0 for a uniform prior";
      });
      return;
    }
    const double length = detail::norm({mean_direction.values().data(), mean_direction.size()});
    require(mean_direction.rank() == 1 && std::fabs(length - 1.0) <= detail::unit_tolerance, [&] {
      return "mean_direction has length " + detail::number(length) +
             "; it must be a vector of length 1: divide it by its length";
    });
  }
};

}  // namespace bhclust
