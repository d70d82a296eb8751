/// @file
/// Evidence of full-covariance Gaussian clusters, eight at a time.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/eight_eliminations.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/row_boxes.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/small_buffer.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Rows are counted from the table's middle in units of the prior: y = L⁻¹ (x - middle), Ψ = L Lᵀ;
/// so is the prior mean, h. With ȳ the mean of a cluster and A its scatter about it,
///     log p = size_term(n) - (ν + n)/2 [log |I + A| + log(1 + κn/(κ+n) |v|²)],  v = R (ȳ - h),
/// where R is the inverse of the Cholesky factor of I + A. A row joins by a determinant of rank
/// two: O(d²), and O(d) when it joins a row. Two clusters join by a factorisation, O(d³).
///
/// Records. Row: y, log p. Cluster: n, log p, ȳ, A.
template <class Model>
class normal_inverse_wishart_kernel {
 public:
  struct query {
    double n = 0.0;
    double log_p = 0.0;
    std::vector<double> mean, scatter;
    std::vector<double> from_prior;  ///< ȳ - h
    std::vector<double> factor;      ///< R, unless n = 1
    std::vector<double> pull;        ///< Rᵀ v
    double distance = 0.0;           ///< |v|²
    // What gains of rows have in common; the numbers are explained in row_gains.
    double base = 0.0, half = 0.0, one = 0.0, alpha = 0.0, beta = 0.0, alpha_beta = 0.0;
    /// Bounds of boxes: see aim.
    std::vector<double> from_prior_white;  ///< v
    std::vector<double> lower;             ///< R⁻¹, unless n = 1
    std::vector<double> turned;            ///< H R
    std::vector<double> untwisted;         ///< the inverse of that, transposed
    std::vector<double> axes;
    double along = 0.0, least = 0.0;
    double slack = 0.0, share = 0.0, shrink = 0.0, most_base = 0.0;
  };

  normal_inverse_wishart_kernel(const Model& model, const table_view& X)
      : normal_inverse_wishart_kernel(model, X, X.rows()) {}

  /// For clusters of at most so many rows, which lie where those of X do.
  normal_inverse_wishart_kernel(const Model& model, const table_view& X, index_t most)
      : model_(model),
        middle_(middle_of(X)),
        prior_mean_(middle_.size()),
        size_term_(model.size_terms(most + 1)) {
    model_.whiten_offset(model_.mean().data(), middle_.data(), prior_mean_.data());
  }

  /// Beyond a million units of the prior from the middle, the digits of y no longer tell neighbours
  /// apart as well as those of x do.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double farthest_row = 1e12;
    constexpr double farthest_prior = 1e30;
    if (all_within(model, X, farthest_row)) return true;
    const auto middle = middle_of(X);
    std::vector<double> x(middle.size());
    const auto distance = [&] {
      model.whiten_offset(x.data(), middle.data(), x.data());
      return dot(x.data(), x.data(), model.d());
    };
    x = model.mean();
    bool near = distance() < farthest_prior;
    pacer pace;
    for (index_t i = 0; near && i < X.rows(); ++i) {
      pace(triangle(model.d()));
      for (index_t j = 0; j < X.columns(); ++j) x[static_cast<std::size_t>(j)] = X.row(i).value(j);
      near = distance() < farthest_row;
    }
    return near;
  }

  [[nodiscard]] index_t row_fields() const noexcept { return d() + 1; }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 2 + d() + triangle(d()); }
  [[nodiscard]] index_t scratch() const noexcept {
    return (triangle(d()) + 6 * d()) * lanes::count;
  }

  /// `block` has the rows' cells, field by field.
  void encode_eight(double* block) const noexcept {
    constexpr index_t w = lanes::count;
    for (index_t j = 0; j < d(); ++j) {
      const double from = middle_[static_cast<std::size_t>(j)];
      (lanes::load(block + j * w) - from).store(block + j * w);
    }
    model_.whiten_eight_offsets(block);
    lanes square = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes z = lanes::load(block + j * w) - prior_mean_[static_cast<std::size_t>(j)];
      square = square + z * z;
    }
    const lanes growth = log1p(square * model_.mean_weight(1.0));
    (lanes::all(size_term_[1]) - growth * (0.5 * (model_.nu() + 1.0))).store(block + d() * w);
  }

  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = 1.0;
    cluster[1] = row[d()];
    std::copy_n(row, d(), mean(cluster));
    std::fill_n(scatter(cluster), triangle(d()), 0.0);
  }

  void merge(const double* a, const double* b, double* made) const {
    std::copy_n(a, cluster_fields(), made);
    absorb(made, b);
    finish(made);
  }

  /// The rows of a group, 0 where its statistics are none that the kernel takes.
  [[nodiscard]] static double group_mean(const Model& model, const double* t, double* mean) {
    constexpr double widest = 1e12;
    std::vector<double> covariance(static_cast<std::size_t>(triangle(model.d())));
    model.covariance(t, covariance.data());
    for (index_t i = 0; i < model.d(); ++i) {
      mean[i] = t[1 + i];
      if (!(covariance[static_cast<std::size_t>(triangle(i) + i)] <= widest)) return 0.0;
    }
    return t[0];
  }

  void encode_group(const Model& model, const double* t, double* cluster) const {
    cluster[0] = t[0];
    model.white_mean(t, middle_.data(), mean(cluster));
    model.covariance(t, scatter(cluster));
    for (index_t e = 0; e < triangle(d()); ++e) scatter(cluster)[e] *= t[0];
    finish(cluster);
  }

  /// a becomes a ∪ b, but for log p.
  void absorb(double* a, const double* b) const {
    const double n = a[0] + b[0];
    const double share = b[0] / n;
    const double weight = a[0] * share;
    small_buffer apart(d());
    for (index_t i = 0; i < d(); ++i) {
      apart.data()[i] = mean(b)[i] - mean(a)[i];
      mean(a)[i] += share * apart.data()[i];
    }
    for (index_t i = 0, e = 0; i < d(); ++i) {
      const double own = weight * apart.data()[i];
      for (index_t k = 0; k <= i; ++k, ++e) {
        scatter(a)[e] = scatter(a)[e] + scatter(b)[e] + own * apart.data()[k];
      }
    }
    a[0] = n;
  }

  void absorb_row(double* a, const double* y) const {
    const double n = a[0] + 1.0;
    const double share = 1.0 / n;
    const double weight = a[0] * share;
    small_buffer apart(d());
    double* e = scatter(a);
    for (index_t i = 0; i < d(); ++i) {
      const double step = apart.data()[i] = y[i] - mean(a)[i];
      const double own = weight * step;
      mean(a)[i] += share * step;
      for (index_t k = 0; k <= i; ++k) *e++ += own * apart.data()[k];
    }
    a[0] = n;
  }

  /// log p.
  void finish(double* cluster) const {
    const double n = cluster[0];
    small_buffer work(triangle(d()) + d());
    double* apart = work.data() + triangle(d());
    for (index_t i = 0; i < d(); ++i) {
      apart[i] = mean(cluster)[i] - prior_mean_[static_cast<std::size_t>(i)];
    }
    std::copy_n(scatter(cluster), triangle(d()), work.data());
    cluster[1] =
        size_term(n) - 0.5 * (model_.nu() + n) * model_.white_log_det_growth(n, work.data(), apart);
  }

  void load(query& q, const double* cluster) const {
    q.n = cluster[0];
    q.log_p = cluster[1];
    q.mean.assign(mean(cluster), mean(cluster) + d());
    q.scatter.assign(scatter(cluster), scatter(cluster) + triangle(d()));
    load_mean(q);
    finish_load(q, q.n > 1.0 ? load_factor(q) : 0.0);
  }

  void load_row(query& q, const double* row) const {
    if (q.n != 1.0) q.scatter.assign(static_cast<std::size_t>(triangle(d())), 0.0);
    q.n = 1.0;
    q.log_p = row[d()];
    q.mean.assign(row, row + d());
    load_mean(q);
    finish_load(q, 0.0);
  }

  void rows_of_blocks(const query& q, const double* blocks, index_t count, double* scratch,
                      double* out) const noexcept {
    if (blocks_of_few(q, blocks, count, out, std::make_index_sequence<most_in_registers>{})) return;
    for (index_t b = 0; b < count; ++b) {
      const double* block = blocks + b * row_fields() * lanes::count;
      lanes square = lanes::all(0.0);  // |u|², u = R (y - ȳ)
      lanes across = lanes::all(0.0);  // u · v
      forms(q, block, scratch, square, across);
      const lanes own = lanes::load(block + d() * lanes::count);
      (row_gains(q, square, across) - own).store(out + b * lanes::count);
    }
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double* scratch) const {
    const lanes n = lanes::load(block) + q.n;
    const lanes share = lanes::load(block) / n;
    const lanes growth = merged_growth(q, n, share, block, scratch);
    return look_up(size_term_.data(), smaller(n, lanes::all(largest()))) -
           growth * (n + model_.nu()) * 0.5 - (lanes::load(block + lanes::count) + q.log_p);
  }

  /// The excess of row_gains is nowhere below `least` of aim. u and v come from factors and
  /// solutions of their own: see allow_for_rounding.
  [[nodiscard]] double peak(const query& q) const noexcept {
    const double lost = share_lost(q) * (1.0 + q.beta * q.distance);
    if (!(lost < 0.5)) return std::numeric_limits<double>::infinity();
    const double least = std::max((1.0 + least_excess(q)) * (1.0 - lost), 1.0);
    const double terms = std::fabs(q.base) + q.half * static_cast<double>(d());
    return q.base - q.half * (1.0 - rounding) * std::log(least) + rounding * terms +
           2.0 * lost * q.half;
  }

  static constexpr index_t most_coordinates = 8;
  [[nodiscard]] double own(const double* row) const noexcept { return -row[d()]; }
  void slope(const double* y, double* g) const noexcept {
    const double weight = model_.mean_weight(1.0);
    double square = 0.0;
    for (index_t k = 0; k < d(); ++k) {
      g[k] = y[k] - prior_mean_[static_cast<std::size_t>(k)];
      square += g[k] * g[k];
    }
    const double factor = (model_.nu() + 1.0) * weight / (1.0 + weight * square);
    for (index_t k = 0; k < d(); ++k) g[k] *= factor;
  }

  /// The excess of row_gains is a quadratic form of u, whose axes are v and what is at right angles
  /// to it: with s = H u, H orthogonal with first row v / |v|, and b = β / (n + 1),
  ///     excess = Σ_i axis_i (s_i - along [i = 0])² + least,
  ///     axis_0 = α + b / (n + 1), axis_i = axis_0 + αβ |v|², along = -b |v| / axis_0.
  void aim(query& q, const double* reach) const {
    const double length = std::sqrt(q.distance);
    const double pull = q.beta * q.one;
    const double axis = q.alpha + pull * q.one;
    q.axes.assign(static_cast<std::size_t>(d()), axis + q.alpha_beta * q.distance);
    q.axes[0] = axis;
    q.along = -pull * length / axis;
    q.least = least_excess(q);
    q.turned.assign(static_cast<std::size_t>(d() * d()), 0.0);
    q.untwisted = q.turned;
    for (index_t i = 0; i < d(); ++i) {
      for (index_t k = 0; k <= i; ++k) {
        const auto in = static_cast<std::size_t>(triangle(i) + k);
        const double one = i == k ? 1.0 : 0.0;
        q.turned[static_cast<std::size_t>(i * d() + k)] = q.n > 1.0 ? q.factor[in] : one;
        q.untwisted[static_cast<std::size_t>(k * d() + i)] = q.n > 1.0 ? q.lower[in] : one;
      }
    }
    turn(q.turned, q.from_prior_white, length);
    turn(q.untwisted, q.from_prior_white, length);
    allow_for_rounding(q, reach);
  }

  /// In a box each s_i has bounds of its own, hence the excess; and log is concave: with Q = 1 +
  /// excess, log Q >= log Q_low + 2 (Q - Q_low) / (Q_low + Q_high), which makes of the gain a
  /// quadratic function of each s_i, given that of the rows' own terms.
  [[nodiscard]] lanes bounds(const query& q, const double* block, double* scratch) const noexcept {
    constexpr index_t w = lanes::count;
    const box_fields field{d()};
    lanes slopes = lanes::all(0.0);
    lanes halves = lanes::all(0.0);
    for (index_t k = 0; k < d(); ++k) {
      const lanes low = lanes::load(block + field.low(k) * w);
      const lanes high = lanes::load(block + field.high(k) * w);
      const lanes slope = lanes::load(block + field.slope(k) * w);
      const lanes half = (high - low) * 0.5;
      ((high + low) * 0.5 - q.mean[static_cast<std::size_t>(k)]).store(scratch + 2 * k * w);
      half.store(scratch + (2 * k + 1) * w);
      slopes = slopes + size_of(slope);
      halves = halves + half;
    }
    double* turned = scratch + 2 * d() * w;
    lanes least = lanes::all(q.least + 1.0);
    lanes both = least;
    for (index_t i = 0; i < d(); ++i) {
      const double* row = q.turned.data() + i * d();
      const double* back = q.untwisted.data() + i * d();
      lanes middle = lanes::all(i == 0 ? -q.along : 0.0);
      lanes half = lanes::all(q.slack);
      lanes slope = lanes::all(0.0);
      for (index_t k = 0; k < d(); ++k) {
        middle = middle + lanes::load(scratch + 2 * k * w) * row[k];
        half = half + lanes::load(scratch + (2 * k + 1) * w) * std::fabs(row[k]);
        slope = slope + lanes::load(block + field.slope(k) * w) * back[k];
      }
      const lanes size = size_of(middle);
      const lanes near = at_least(size - half, 0.0);
      const lanes far = size + half;
      const double axis = q.axes[static_cast<std::size_t>(i)];
      least = least + near * near * axis;
      both = both + far * far * axis;
      middle.store(turned + 4 * i * w);
      half.store(turned + (4 * i + 1) * w);
      slope.store(turned + (4 * i + 2) * w);
      near.store(turned + (4 * i + 3) * w);
    }
    both = both + least;
    const lanes bend = (2.0 * q.half) / both;
    lanes rise = lanes::load(block + field.lift() * w) + slopes * halves * q.share;
    for (index_t i = 0; i < d(); ++i) {
      const double axis = q.axes[static_cast<std::size_t>(i)];
      const lanes middle = lanes::load(turned + 4 * i * w);
      const lanes half = lanes::load(turned + (4 * i + 1) * w);
      const lanes slope = lanes::load(turned + (4 * i + 2) * w);
      const lanes near = lanes::load(turned + (4 * i + 3) * w);
      const lanes peak = slope * both * (0.25 / (q.half * axis)) - middle;
      const lanes step = smaller(larger(peak, half * -1.0), half);
      const lanes apart = middle + step;
      rise = rise + (slope * step - bend * (apart * apart - near * near) * axis) +
             size_of(slope) * (half * rounding + 2.0 * q.slack);
    }
    const lanes own = smaller(rise, lanes::load(block + field.most() * w));
    const lanes fall = log(at_least(least * q.shrink, 1.0)) * (q.half * (1.0 - rounding));
    return lanes::all(q.most_base) - fall + own;
  }

 private:
  /// More than the relative error of a gain's terms.
  static constexpr double rounding = 1e-14;

  /// Whether all rows and the prior mean are within so many squared units of each other by what the
  /// ranges of columns say: where they are, none need be looked at.
  [[nodiscard]] static bool all_within(const Model& model, const table_view& X, double square) {
    auto reach = reaches_of(X, model.mean());
    return model.most_white_square(reach.data()) < square;
  }

  [[nodiscard]] index_t d() const noexcept { return model_.d(); }
  /// Sweeps pass over dead slots too, so that a cluster meets itself and its parts: more than all.
  [[nodiscard]] double largest() const noexcept {
    return static_cast<double>(size_term_.size() - 1);
  }
  [[nodiscard]] double size_term(double n) const noexcept {
    return size_term_[static_cast<std::size_t>(n)];
  }
  [[nodiscard]] double* mean(double* cluster) const noexcept { return cluster + 2; }
  [[nodiscard]] const double* mean(const double* cluster) const noexcept { return cluster + 2; }
  [[nodiscard]] double* scatter(double* cluster) const noexcept { return cluster + 2 + d(); }
  [[nodiscard]] const double* scatter(const double* cluster) const noexcept {
    return cluster + 2 + d();
  }

  void load_mean(query& q) const {
    if (q.pull.size() != q.mean.size()) {
      for (auto* v : {&q.from_prior, &q.pull, &q.from_prior_white}) v->resize(q.mean.size());
    }
    for (std::size_t i = 0; i < q.mean.size(); ++i) {
      q.from_prior[i] = q.pull[i] = q.from_prior_white[i] = q.mean[i] - prior_mean_[i];
    }
  }

  /// Given log |I + A|.
  void finish_load(query& q, double log_det) const {
    q.distance = dot(q.from_prior_white.data(), q.from_prior_white.data(), d());
    const double n = q.n + 1.0;
    q.half = 0.5 * (model_.nu() + n);
    q.base = size_term(n) - q.log_p - q.half * log_det;
    q.one = 1.0 / n;
    q.alpha = q.n * q.one;
    q.beta = model_.mean_weight(n);
    q.alpha_beta = q.alpha * q.beta;
  }

  /// R and what follows from it; returns log |I + A|.
  double load_factor(query& q) const {
    q.factor = q.scatter;
    for (index_t i = 0; i < d(); ++i) q.factor[static_cast<std::size_t>(triangle(i) + i)] += 1.0;
    cholesky(q.factor.data(), d(), 1.0);
    const double log_det = log_determinant(q.factor.data(), d());
    solve_lower(q.factor.data(), q.pull.data(), d());
    q.from_prior_white = q.pull;
    solve_upper(q.factor.data(), q.pull.data(), d());
    q.lower = q.factor;
    invert_lower(q.factor.data(), d());
    return log_det;
  }

  void forms(const query& q, const double* block, double* scratch, lanes& square,
             lanes& across) const noexcept {
    const double* mean = q.mean.data();
    const double* pull = q.pull.data();
    for (index_t k = 0; k < d(); ++k) {
      const lanes apart = lanes::load(block + k * lanes::count) - mean[k];
      across = across + apart * pull[k];
      if (q.n == 1.0) {
        square = square + apart * apart;
      } else {
        apart.store(scratch + k * lanes::count);
      }
    }
    if (q.n != 1.0) square = square_after(q.factor.data(), scratch);
  }

  static constexpr std::size_t most_in_registers = 8;

  /// The same, to the bit, of so few columns that all is in registers; false of more.
  template <std::size_t... I>
  [[nodiscard]] bool blocks_of_few(const query& q, const double* blocks, index_t count, double* out,
                                   std::index_sequence<I...>) const noexcept {
    const auto columns = static_cast<std::size_t>(d());
    return (
        (columns == I + 1 && blocks_of(q, blocks, count, out, std::make_index_sequence<I + 1>{})) ||
        ...);
  }
  template <std::size_t... I>
  [[nodiscard]] bool blocks_of(const query& q, const double* blocks, index_t count, double* out,
                               std::index_sequence<I...> columns) const noexcept {
    constexpr index_t own = sizeof...(I) * lanes::count;
    for (index_t b = 0; b < count; ++b, blocks += own + lanes::count, out += lanes::count) {
      lanes square, across;
      forms_of(q, blocks, square, across, columns);
      (row_gains(q, square, across) - lanes::load(blocks + own)).store(out);
    }
    return true;
  }
  template <std::size_t... I>
  [[gnu::always_inline]] static bool forms_of(const query& q, const double* block, lanes& square,
                                              lanes& across, std::index_sequence<I...>) noexcept {
    const double* mean = q.mean.data();
    const double* pull = q.pull.data();
    const double* factor = q.n == 1.0 ? nullptr : q.factor.data();
    for (std::size_t c = 0; c < lanes::chunks; ++c) {
      const chunk apart[] = {chunk_of(block + I * lanes::count, c) - mean[I]...};
      chunk sum{};
      ((sum = sum + apart[I] * pull[I]), ...);
      across.part[c] = sum;
      chunk squares{};
      if (factor == nullptr) {
        ((squares = squares + apart[I] * apart[I]), ...);
      } else {
        ((squares = squares + square_of(row_times(factor + triangle(static_cast<index_t>(I)), apart,
                                                  std::make_index_sequence<I + 1>{}))),
         ...);
      }
      square.part[c] = squares;
    }
    return true;
  }
  template <std::size_t... K>
  [[nodiscard]] static chunk row_times(const double* row, const chunk* x,
                                       std::index_sequence<K...>) noexcept {
    chunk sum{};
    ((sum = sum + x[K] * row[K]), ...);
    return sum;
  }
  [[nodiscard]] static chunk square_of(const chunk& x) noexcept { return x * x; }
  [[nodiscard]] static chunk chunk_of(const double* eight, std::size_t c) noexcept {
    chunk part;
    std::memcpy(&part, eight + c * (sizeof(chunk) / sizeof(double)), sizeof(part));
    return part;
  }

  /// |R x|² for eight x, field by field. Rows of R are taken in pairs, which halves the loads.
  [[nodiscard]] lanes square_after(const double* factor, const double* x) const noexcept {
    constexpr index_t w = lanes::count;
    lanes square = lanes::all(0.0);
    for (index_t i = 1; i < d(); i += 2) {
      const double* upper = factor + triangle(i - 1);
      const double* lower = factor + triangle(i);
      lanes u = lanes::all(0.0);
      lanes v = lanes::all(0.0);
      for (index_t k = 0; k < i; ++k) {
        const lanes y = lanes::load(x + k * w);
        u = u + y * upper[k];
        v = v + y * lower[k];
      }
      v = v + lanes::load(x + i * w) * lower[i];
      square = square + u * u + v * v;
    }
    if (d() % 2 == 0) return square;
    const double* last = factor + triangle(d() - 1);
    lanes u = lanes::all(0.0);
    for (index_t k = 0; k < d(); ++k) u = u + lanes::load(x + k * w) * last[k];
    return square + u * u;
  }

  /// H X for a full matrix X: the first row by itself, the others by I - 2 w wᵀ / |w|², w = v ±
  /// |v| e_0, which differs from H in the sign of the first row at most.
  void turn(std::vector<double>& matrix, const std::vector<double>& v, double length) const {
    if (!(length > 0.0)) return;
    double* first = matrix.data();
    std::vector<double> along(v.size(), 0.0);  // Xᵀ v
    for (index_t i = 0; i < d(); ++i) {
      for (index_t k = 0; k < d(); ++k) {
        along[static_cast<std::size_t>(k)] += v[static_cast<std::size_t>(i)] * first[i * d() + k];
      }
    }
    const double step = v[0] < 0.0 ? -length : length;
    const double scale = 1.0 / (length * (length + std::fabs(v[0])));  // 2 / |w|²
    for (index_t i = 1; i < d(); ++i) {
      const double share = scale * v[static_cast<std::size_t>(i)];
      for (index_t k = 0; k < d(); ++k) {
        first[i * d() + k] -= share * (along[static_cast<std::size_t>(k)] + step * first[k]);
      }
    }
    for (index_t k = 0; k < d(); ++k) first[k] = along[static_cast<std::size_t>(k)] / length;
  }

  [[nodiscard]] static double least_excess(const query& q) noexcept {
    return q.beta * q.distance * (q.alpha / (q.alpha + q.beta * q.one * q.one));
  }

  /// What of a quadratic form of u or v rounding may take, as a share of it.
  [[nodiscard]] double share_lost(const query& q) const noexcept {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    const auto dim = static_cast<double>(d());
    double inverse = q.n > 1.0 ? 0.0 : dim;
    double trace = dim;
    if (q.n > 1.0) {
      for (const double r : q.factor) inverse += r * r;
      for (index_t i = 0; i < d(); ++i) {
        trace += q.scatter[static_cast<std::size_t>(triangle(i) + i)];
      }
    }
    return (64.0 + 16.0 * dim) * epsilon * std::sqrt(trace * inverse);
  }

  /// u and v come from factors and solutions of their own: what rounding makes of them, in bounds
  /// and in gains. When it may be everything, nothing is passed over.
  void allow_for_rounding(query& q, const double* reach) const {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    const auto dim = static_cast<double>(d());
    double terms = 0.0;
    for (index_t i = 0, e = 0; i < d(); ++i) {
      for (index_t k = 0; k <= i; ++k, ++e) {
        const auto in = static_cast<std::size_t>(e);
        const double r = q.n > 1.0 ? q.factor[in] : (i == k ? 1.0 : 0.0);
        terms += std::fabs(r) * (std::fabs(q.mean[static_cast<std::size_t>(k)]) + reach[k]);
      }
    }
    q.share = share_lost(q);
    q.slack = (16.0 + 8.0 * dim) * epsilon * terms;
    const double lost = q.share * (1.0 + q.beta * q.distance);
    q.shrink = 1.0 - lost;
    q.most_base =
        q.base + rounding * (std::fabs(q.base) + q.half * dim + reach[d()]) + 2.0 * lost * q.half;
    if (!(lost < 0.5)) q.most_base = std::numeric_limits<double>::infinity();
  }

  /// By log |I + α u uᵀ + β z zᵀ|, where z = v + u / (n + 1) is the new mean's distance from the
  /// prior's, α = n / (n + 1) and β the mean's weight. `square` = |u|², `across` = u · v.
  [[nodiscard, gnu::always_inline]] lanes row_gains(const query& q, const lanes& square,
                                                    const lanes& across) const noexcept {
    const lanes moved = (across * 2.0 + square * q.one) * q.one + q.distance;  // |z|²
    const lanes area = at_least(square * q.distance - across * across, 0.0);
    const lanes excess = square * q.alpha + moved * q.beta + area * q.alpha_beta;
    return lanes::all(q.base) - log(excess + 1.0) * q.half;
  }

  /// log |I + A| + log(1 + β |v|²) of the query's union with each of eight clusters.
  [[nodiscard]] lanes merged_growth(const query& q, const lanes& n, const lanes& share,
                                    const double* block, double* scratch) const {
    constexpr index_t w = lanes::count;
    const double* means = block + 2 * w;
    const double* scatters = means + d() * w;
    double* apart = scratch + (triangle(d()) + 2 * d()) * w;
    eight_eliminations all{scratch, scratch + triangle(d()) * w, apart - d() * w};
    const lanes weight = share * q.n;
    for (index_t i = 0, e = 0; i < d(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const lanes step = lanes::load(means + i * w) - q.mean[at];
      const lanes weighted = step * weight;
      const auto entry = [&](const lanes& other) {
        const auto in = static_cast<std::size_t>(e);
        return lanes::load(scatters + e * w) + q.scatter[in] + weighted * other;
      };
      for (index_t k = 0; k < i; ++k, ++e) {
        entry(lanes::load(apart + k * w)).store(scratch + e * w);
      }
      all.eliminate(i, entry(step), share * step + q.from_prior[at]);
      step.store(apart + i * w);
      ++e;
    }
    return all.growth(n * model_.kappa() / (n + model_.kappa()));
  }

  Model model_;
  std::vector<double> middle_;
  std::vector<double> prior_mean_;  ///< h
  std::vector<double> size_term_;
};

}  // namespace bhclust::detail
