/// @file
/// Series about one random curve a cluster, bound to their times.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/gaussian_process_holes_kernel.hpp>
#include <bhclust/detail/gaussian_process_kernel.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/detail/symmetric_eigen.hpp>
#include <bhclust/detail/time_kernel.hpp>
#include <bhclust/detail/ward_kernel.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The kernel at the times of the columns, and its eigensystem. Indices are columns.
struct time_covariance {
  std::vector<wide> k;               ///< K, d × d
  std::vector<wide> axes;            ///< eigenvectors u_j, one after another: the rows of U
  std::vector<double> spread;        ///< λ_j >= 0
  std::vector<double> slope;         ///< ∂K / ∂ log length_scale, d × d
  std::vector<double> turned_slope;  ///< U slope Uᵀ

  [[nodiscard]] index_t d() const noexcept { return static_cast<index_t>(spread.size()); }

  time_covariance(const unit_kernel& kernel, double amplitude, const std::vector<double>& times) {
    const auto d = static_cast<index_t>(times.size());
    std::vector<wide> change;
    for (const double t : times) {
      for (const double s : times) {
        k.push_back(kernel(t, s));
        change.push_back(kernel.slope(t, s));
      }
    }
    const wide unit = *std::max_element(k.begin(), k.end());
    require(unit * amplitude < 1.001e300L,
            "the prior variance of the curves' ends is above 1e300: length_scale is too short for "
            "a cubic spline over these times");
    auto shape = k;
    for (wide& x : shape) x /= unit;
    auto system = eigen_of(std::move(shape), d);
    axes = std::move(system.vectors);
    for (const wide x : system.values) {
      spread.push_back(static_cast<double>(amplitude * unit * std::max(x, static_cast<wide>(0))));
    }
    for (wide& x : k) x *= amplitude;
    for (const wide x : change) slope.push_back(static_cast<double>(amplitude * x));
    turn(change, amplitude);
  }

 private:
  void turn(const std::vector<wide>& change, double amplitude) {
    const index_t n = d();
    std::vector<wide> half(change.size());
    turned_slope.resize(change.size());
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < n; ++j) {
        half[static_cast<std::size_t>(i * n + j)] =
            dot(axes.data() + i * n, change.data() + j * n, n);
      }
    }
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < n; ++j) {
        turned_slope[static_cast<std::size_t>(i * n + j)] =
            static_cast<double>(amplitude * dot(half.data() + i * n, axes.data() + j * n, n));
      }
    }
  }
};

/// Statistics: the moments of each column, so a cluster says nothing of times it has not seen. With
/// n values at every time, in the eigenbasis of the kernel the coordinates are independent normals
/// of known variance: O(d²), all of it the rotation of the mean. Else, with D = diag(n_t), by the
/// Cholesky factor of I + D^½ K D^½ / noise: O(d³).
class gaussian_process_model : public independent<normal_known_variance_column> {
  using self = gaussian_process_model;

 public:
  template <class Score>
  using plain_store = cluster_store<self, Score>;
  template <class Score>
  using store = std::conditional_t<
      Score::kind == score_kind::evidence,
      lane_store_or<self, gaussian_process_kernel<self>,
                    lane_store_or<self, gaussian_process_holes_kernel<self>, plain_store<Score>>>,
      lane_store_or<self, ward_kernel<self>, plain_store<Score>>>;

  gaussian_process_model(std::vector<normal_known_variance_column> columns, time_covariance prior,
                         double length_scale, double amplitude)
      : independent(std::move(columns)),
        prior_(std::move(prior)),
        length_scale_(length_scale),
        amplitude_(amplitude) {}

  [[nodiscard]] const time_covariance& prior() const noexcept { return prior_; }
  [[nodiscard]] std::vector<double> ward_units() const { return units_of_noise(*this); }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const {
    return rows_and_means(*this, t, mean);
  }
  [[nodiscard]] double noise() const noexcept { return column(0).variance; }

  [[nodiscard]] double log_marginal(const double* t) const {
    const wide fit = complete(t) ? complete_misfit(t) : incomplete_misfit(t);
    return static_cast<double>(-fit / 2);
  }

  /// Fields: times (d, not learned), kernel (1, not learned), length_scale, amplitude, noise, mean
  /// (d).
  [[nodiscard]] index_t gradient_size() const noexcept { return 2 * columns() + 4; }

  void add_gradient(const double* t, double weight, double* g) const {
    const bool all = complete(t);
    if (all && load(t, 0).n == 0.0) return;
    add(all ? complete_slopes(t) : incomplete_slopes(t), weight, g + columns() + 1);
  }

  /// The posterior mean of the cluster's curve. O(d²) with n values at every time, else O(d³).
  void predictive_mean(const double* t, double* out) const {
    const auto f = complete(t) ? turned_back(complete_offset(t)) : incomplete_offset(seen_by(t));
    for (index_t j = 0; j < columns(); ++j) out[j] = static_cast<double>(column(j).mean + f[at(j)]);
  }

  /// A curve of the posterior, and noise about it. As predictive_mean.
  void sample(const double* t, random_source& random, double* row) const {
    const auto f = complete(t) ? complete_curve(t, random) : incomplete_curve(t, random);
    const double root_noise = std::sqrt(noise());
    for (index_t j = 0; j < columns(); ++j) {
      const auto centre = static_cast<double>(column(j).mean + f[at(j)]);
      row[j] = within_reals(centre + root_noise * draw_normal(random));
    }
  }

  /// Chain rule: of each time given those before it in the order. The factor of the leading times
  /// is the leading part of the factor, so that one factorisation gives all.
  void column_terms(const double* t, const index_t* order, double* out) const {
    std::fill_n(out, columns(), 0.0);
    auto s = seen_by(t, order);
    substitute(s.factor, s.y);
    for (index_t i = 0; i < s.size(); ++i) {
      const index_t j = s.columns[at(i)];
      out[j] = static_cast<double>(-(noise_misfit(t, j) + misfit(s, i)) / 2);
    }
  }

  /// The posterior of the cluster's curve at a new time.
  struct curve_point {
    double offset;    ///< of the mean from the prior's
    double variance;  ///< of the curve, without noise
  };

  /// `cross`: for each new time the kernel of it and every column's; `own`: its prior variance.
  [[nodiscard]] std::vector<curve_point> curve(const double* t,
                                               const std::vector<std::vector<wide>>& cross,
                                               const std::vector<wide>& own) const {
    auto s = seen_by(t);
    substitute(s.factor, s.y);
    std::vector<curve_point> points;
    for (std::size_t p = 0; p < own.size(); ++p) {
      const auto x = reach(s, cross[p].data());
      wide offset = 0;
      wide known = 0;
      for (index_t i = 0; i < s.size(); ++i) {
        const wide share = x[at(i)] / (1 + s.factor[at(triangle(i) + i)]);
        offset += share * s.y[at(i)];
        known += share * x[at(i)];
      }
      points.push_back({static_cast<double>(offset),
                        static_cast<double>(std::max(static_cast<wide>(0), own[p] - known))});
    }
    return points;
  }

 private:
  /// Derivatives by log length_scale, log amplitude, noise and mean.
  struct slopes {
    double length_scale = 0.0, amplitude = 0.0, noise = 0.0;
    std::vector<double> mean;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] moments load(const double* t, index_t j) const noexcept {
    return moments::load(t + offset(j));
  }
  [[nodiscard]] wide from_prior(const double* t, index_t j) const noexcept {
    const moments c = load(t, j);
    return (static_cast<wide>(c.mean) - static_cast<wide>(column(j).mean)) +
           static_cast<wide>(c.mean_low);
  }

  /// Whether the cluster has as many values at one time as at another.
  [[nodiscard]] bool complete(const double* t) const noexcept {
    for (index_t j = 1; j < columns(); ++j) {
      if (load(t, j).n != load(t, 0).n) return false;
    }
    return true;
  }

  /// U (ȳ - mean).
  [[nodiscard]] std::vector<wide> turned_offset(const double* t) const {
    const index_t d = columns();
    std::vector<wide> y(at(d)), z(at(d));
    for (index_t j = 0; j < d; ++j) y[at(j)] = from_prior(t, j);
    for (index_t j = 0; j < d; ++j) z[at(j)] = dot(prior_.axes.data() + j * d, y.data(), d);
    return z;
  }

  /// What of -2 log p neither the mean nor the prior's covariance has a part in, of one column.
  [[nodiscard]] wide noise_misfit(const double* t, index_t j) const {
    const moments c = load(t, j);
    return c.n * static_cast<wide>(column(j).log_2pi_variance) +
           static_cast<wide>(c.squares) / noise();
  }
  [[nodiscard]] wide noise_misfit(const double* t) const {
    wide sum = 0;
    for (index_t j = 0; j < columns(); ++j) sum += noise_misfit(t, j);
    return sum;
  }

  [[nodiscard]] wide complete_misfit(const double* t) const {
    const double n = load(t, 0).n;
    if (n == 0.0) return 0;
    const auto z = turned_offset(t);
    wide sum = noise_misfit(t);
    for (index_t j = 0; j < columns(); ++j) {
      const wide w = noise() + static_cast<wide>(n) * prior_.spread[at(j)];
      sum += std::log1p(static_cast<wide>(n) * prior_.spread[at(j)] / noise()) +
             n * (z[at(j)] * (z[at(j)] / w));
    }
    return sum;
  }

  /// The times a cluster has seen, with I + D^½ K D^½ / noise = U E Uᵀ at them (in place of D^½ K
  /// D^½ / noise: U below the diagonal, E - I on it) and D^½ (ȳ - mean) / noise^½.
  struct seen {
    std::vector<index_t> columns;
    std::vector<wide> root_n, factor, y;
    [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(columns.size()); }
  };

  /// In an order of all columns; nullptr: as they are.
  [[nodiscard]] seen seen_by(const double* t, const index_t* order = nullptr) const {
    seen s;
    const wide root_noise = std::sqrt(static_cast<wide>(noise()));
    for (index_t place = 0; place < columns(); ++place) {
      const index_t j = order == nullptr ? place : order[place];
      const double n = load(t, j).n;
      if (n == 0.0) continue;
      s.columns.push_back(j);
      s.root_n.push_back(std::sqrt(static_cast<wide>(n)));
      s.y.push_back(s.root_n.back() * (from_prior(t, j) / root_noise));
    }
    s.factor.reserve(at(triangle(s.size())));
    for (index_t i = 0; i < s.size(); ++i) {
      const wide* row = prior_.k.data() + s.columns[at(i)] * columns();
      const wide scale = s.root_n[at(i)] / noise();
      for (index_t k = 0; k <= i; ++k) {
        s.factor.push_back(scale * s.root_n[at(k)] * row[s.columns[at(k)]]);
      }
      factor_row_one_plus(s.factor.data(), i, static_cast<wide>(0));
    }
    return s;
  }

  [[nodiscard]] wide incomplete_misfit(const double* t) const {
    auto s = seen_by(t);
    substitute(s.factor, s.y);
    wide sum = noise_misfit(t);
    for (index_t i = 0; i < s.size(); ++i) sum += misfit(s, i);
    return sum;
  }

  /// What of -2 log p the i-th time seen adds to that of the earlier ones, besides its
  /// noise_misfit; s.y substituted.
  [[nodiscard]] static wide misfit(const seen& s, index_t i) {
    const wide more = s.factor[at(triangle(i) + i)];
    return std::log1p(more) + s.y[at(i)] * (s.y[at(i)] / (1 + more));
  }

  /// Uᵀ z.
  [[nodiscard]] std::vector<wide> turned_back(const std::vector<wide>& z) const {
    const index_t d = columns();
    std::vector<wide> f(at(d));
    for (index_t j = 0; j < d; ++j) {
      const wide* axis = prior_.axes.data() + j * d;
      for (index_t i = 0; i < d; ++i) f[at(i)] += z[at(j)] * axis[i];
    }
    return f;
  }

  /// The posterior mean of the curve less the prior's, turned.
  [[nodiscard]] std::vector<wide> complete_offset(const double* t) const {
    const double n = load(t, 0).n;
    if (n == 0.0) return std::vector<wide>(at(columns()));
    auto z = turned_offset(t);
    for (index_t j = 0; j < columns(); ++j) {
      const wide known = static_cast<wide>(n) * prior_.spread[at(j)];
      z[at(j)] *= known / (noise() + known);
    }
    return z;
  }

  /// U⁻¹ D^½ k / noise^½ for the kernel k of a time and every column's.
  [[nodiscard]] std::vector<wide> reach(const seen& s, const wide* k) const {
    const wide root_noise = std::sqrt(static_cast<wide>(noise()));
    std::vector<wide> x;
    for (index_t i = 0; i < s.size(); ++i) {
      x.push_back(s.root_n[at(i)] * k[s.columns[at(i)]] / root_noise);
    }
    substitute(s.factor, x);
    return x;
  }

  /// The posterior mean of the curve less the prior's: K D^½ (I + D^½ K D^½ / noise)⁻¹ y / noise^½
  /// for the y of `s`. The factor is shared between both sides of the product, so that these stay
  /// within the prior's and the data's size however little noise there is.
  [[nodiscard]] std::vector<wide> incomplete_offset(seen s) const {
    substitute(s.factor, s.y);
    std::vector<wide> f(at(columns()));
    for (index_t j = 0; j < columns(); ++j) {
      if (j >= long_row) pulse();
      const auto x = reach(s, prior_.k.data() + j * columns());
      for (index_t i = 0; i < s.size(); ++i) {
        f[at(j)] += x[at(i)] / (1 + s.factor[at(triangle(i) + i)]) * s.y[at(i)];
      }
    }
    return f;
  }

  /// A draw of the curve less the prior's mean. In the eigenbasis the posterior's coordinates are
  /// independent, of variance noise λ / (noise + nλ).
  [[nodiscard]] std::vector<wide> complete_curve(const double* t, random_source& random) const {
    const double n = load(t, 0).n;
    auto z = complete_offset(t);
    for (index_t j = 0; j < columns(); ++j) {
      const wide spread = prior_.spread[at(j)];
      z[at(j)] += std::sqrt(spread * (noise() / (noise() + n * spread))) * draw_normal(random);
    }
    return turned_back(z);
  }

  /// The same for any cluster: a curve of the prior and means of cells about it are drawn, and the
  /// curve is corrected by the posterior mean of what they and the cluster's differ by. So no
  /// covariance is factored but the prior's, whose eigenvalues are known not to be negative.
  /// (Journel and Huijbregts, Mining Geostatistics, 1978: conditioning by kriging.)
  [[nodiscard]] std::vector<wide> incomplete_curve(const double* t, random_source& random) const {
    std::vector<wide> z;
    for (const double spread : prior_.spread) {
      z.push_back(std::sqrt(static_cast<wide>(spread)) * draw_normal(random));
    }
    auto f = turned_back(z);
    auto s = seen_by(t);
    const wide root_noise = std::sqrt(static_cast<wide>(noise()));
    for (index_t i = 0; i < s.size(); ++i) {
      s.y[at(i)] -= s.root_n[at(i)] * f[at(s.columns[at(i)])] / root_noise + draw_normal(random);
    }
    const auto correction = incomplete_offset(std::move(s));
    for (index_t j = 0; j < columns(); ++j) f[at(j)] += correction[at(j)];
    return f;
  }

  /// With W = noise I + n Λ and v = W⁻¹ z: ∂/∂K = n/2 (n v vᵀ - W⁻¹) in the eigenbasis, ∂/∂mean =
  /// n Uᵀ v. O(d²).
  [[nodiscard]] slopes complete_slopes(const double* t) const {
    const index_t d = columns();
    const double n = load(t, 0).n;
    const auto z = turned_offset(t);
    std::vector<double> v(at(d));
    slopes s;
    for (index_t j = 0; j < d; ++j) {
      const double spread = prior_.spread[at(j)];
      const double w = noise() + n * spread;
      v[at(j)] = static_cast<double>(z[at(j)]) / w;
      const double pull = n * v[at(j)] * v[at(j)];
      s.amplitude += 0.5 * n * spread * (n * v[at(j)] * v[at(j)] - 1.0 / w);
      s.noise -= 0.5 * (n / noise() - n * (spread / noise()) / w -
                        (load(t, j).squares / noise()) / noise() - pull);
      s.length_scale -= 0.5 * n * prior_.turned_slope[at(j * d + j)] / w;
    }
    for (index_t j = 0; j < d; ++j) {
      s.length_scale +=
          0.5 * n * n * v[at(j)] * dot(prior_.turned_slope.data() + j * d, v.data(), d);
    }
    s.mean.resize(at(d));
    for (index_t j = 0; j < d; ++j) {
      for (index_t i = 0; i < d; ++i) {
        s.mean[at(i)] += n * v[at(j)] * static_cast<double>(prior_.axes[at(j * d + i)]);
      }
    }
    return s;
  }

  /// With C = (K + noise D⁻¹)⁻¹ at the times seen, zero elsewhere, and a = C (ȳ - mean): ∂/∂K = ½
  /// (a aᵀ - C), ∂/∂mean = a. O(d³).
  [[nodiscard]] slopes incomplete_slopes(const double* t) const {
    const index_t d = columns();
    const std::vector<double> c = precision(seen_by(t));
    slopes s;
    s.mean.assign(at(d), 0.0);
    for (index_t i = 0; i < d; ++i) {
      for (index_t k = 0; k < d; ++k) {
        s.mean[at(i)] += c[at(i * d + k)] * static_cast<double>(from_prior(t, k));
      }
    }
    for (index_t i = 0; i < d; ++i) {
      for (index_t k = 0; k < d; ++k) {
        const double by_k = 0.5 * (s.mean[at(i)] * s.mean[at(k)] - c[at(i * d + k)]);
        s.amplitude += by_k * static_cast<double>(prior_.k[at(i * d + k)]);
        s.length_scale += by_k * prior_.slope[at(i * d + k)];
      }
      const moments m = load(t, i);
      if (m.n == 0.0) continue;
      s.noise -= 0.5 * ((m.n - 1.0) / noise() - (m.squares / noise()) / noise() +
                        (c[at(i * d + i)] - s.mean[at(i)] * s.mean[at(i)]) / m.n);
    }
    return s;
  }

  /// C, d × d.
  [[nodiscard]] std::vector<double> precision(const seen& s) const {
    const index_t d = columns();
    std::vector<double> c(at(d * d), 0.0);
    std::vector<wide> x(at(s.size()));
    for (index_t k = 0; k < s.size(); ++k) {
      std::fill(x.begin(), x.end(), static_cast<wide>(0));
      x[at(k)] = s.root_n[at(k)];
      solve(s.factor, x);
      for (index_t i = 0; i < s.size(); ++i) {
        c[at(s.columns[at(i)] * d + s.columns[at(k)])] =
            static_cast<double>(s.root_n[at(i)] * x[at(i)] / noise());
      }
    }
    return c;
  }

  /// x ← U⁻¹ x.
  static void substitute(const std::vector<wide>& factor, std::vector<wide>& x) {
    const auto d = static_cast<index_t>(x.size());
    for (index_t i = 0; i < d; ++i) x[at(i)] -= dot(factor.data() + triangle(i), x.data(), i);
  }

  /// x ← (I + A)⁻¹ x from I + A = U E Uᵀ, see factor_row_one_plus.
  static void solve(const std::vector<wide>& factor, std::vector<wide>& x) {
    const auto d = static_cast<index_t>(x.size());
    substitute(factor, x);
    for (index_t i = 0; i < d; ++i) x[at(i)] /= 1 + factor[at(triangle(i) + i)];
    for (index_t i = d - 1; i >= 0; --i) {
      for (index_t k = 0; k < i; ++k) x[at(k)] -= factor[at(triangle(i) + k)] * x[at(i)];
    }
  }

  void add(const slopes& s, double weight, double* g) const {
    g[0] += weight * s.length_scale / length_scale_;
    g[1] += weight * s.amplitude / amplitude_;
    g[2] += weight * s.noise;
    for (index_t j = 0; j < columns(); ++j) g[3 + j] += weight * s.mean[at(j)];
  }

  time_covariance prior_;
  double length_scale_, amplitude_;
};

}  // namespace bhclust::detail
