/// @file
/// Clusters in bytes: which of many may be near, where boxes exclude few.
#pragma once

#include <bhclust/detail/byte_products.hpp>
#include <bhclust/detail/kd_order.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/small_buffer.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// Slots in panels of 48, means counted from an origin that neighbouring panels, a region, have in
/// common, and rounded to whole multiples of the region's unit that one signed byte holds. What
/// lies farther out than bytes hold is moved to their edge first, by moves that bring no two points
/// farther apart: into a cube, then straight towards the origin into a ball. Rounded points x, y of
/// squared length below 2^15 have a dot product of 16 bits, which may be summed modulo 2^16, and
/// what each is off by is known: |x - y| is at least |x̂ - ŷ| - e_x - e_y.
/// So a cluster of cost B or less has
///     x̂ ŷ - |ŷ|²/2 >= |x̂|²/2 - B (1/n_x + 1/n_y)/2 - k/2,  k = 2 r e + e²,
/// with e the largest e_x + e_y and r the largest distance that B allows. The left side lies
/// between |x̂|²/2 - 2^16 and |x̂|²/2, so that it has 16 bits, too. Whole numbers: every instruction
/// set lets the same clusters pass. Points that are off by more than most always pass.
template <class Clusters>
class byte_panels {
 public:
  static constexpr index_t width = panel_width;
  /// Queries that are made ready together.
  static constexpr index_t together = lanes::count;

  explicit byte_panels(const Clusters& clusters)
      : clusters_(clusters),
        d_(clusters.columns()),
        pairs_((d_ + 1) / 2),
        allowed_(allowed_error(d_)),
        longest_(std::sqrt(longest_square) - 0.5 * std::sqrt(static_cast<double>(d_)) - 1e-3) {}

  /// Whether rounded points of so many columns are of use.
  [[nodiscard]] static bool takes(index_t columns) noexcept {
    return multiplies_bytes && columns >= 4 && columns <= 4096;
  }

  void clear() {
    code_ = {};
    half_square_ = {};
    share_ = {};
    region_of_ = {};
    region_ = {};
    origin_ = {};
  }

  /// All slots anew. Regions begin with these panels, ascending from 0.
  void rebuild(const std::vector<index_t>& begins, thread_team& team, progress_meter& progress) {
    const index_t panels = (clusters_.slots() + width - 1) / width;
    code_.resize(at(panels * pairs_ * 2 * width));
    half_square_.resize(at(panels * width));
    share_.resize(half_square_.size());
    const auto regions = static_cast<index_t>(begins.size());
    // queries come from beside a region, too
    room_ = regions == 1 ? 1.0 : 0.7;
    region_of_.resize(at(panels));
    region_.resize(begins.size());
    origin_.assign(at(regions * d_), 0.0);
    std::vector<double> need(at(clusters_.slots()));
    const auto end = [&](index_t r) { return r + 1 < regions ? begins[at(r + 1)] : panels; };
    const auto between = [&] { progress.tick(); };
    const auto each_region = [&](const auto& work) {
      team.run(regions, [&](int, index_t r) { work(r, begins[at(r)], end(r)); }, between);
    };
    const auto each_panel = [&](const auto& work) {
      constexpr index_t share = 8;
      const auto some = [&](int, index_t c) {
        for (index_t p = c * share; p < std::min(panels, (c + 1) * share); ++p) work(p);
      };
      team.run((panels + share - 1) / share, some, between);
    };
    each_region([&](index_t r, index_t first, index_t last) {
      std::fill(region_of_.begin() + first, region_of_.begin() + last, static_cast<ward_id>(r));
      centre(r, first, last);
    });
    each_panel([&](index_t p) { measure(p, need); });
    each_region([&](index_t r, index_t first, index_t last) { scale(r, first, last, need); });
    each_panel([&](index_t p) { refresh(p); });
  }

  [[nodiscard]] index_t region_of(index_t panel) const noexcept { return region_of_[at(panel)]; }

  /// One panel after a change.
  void refresh(index_t panel) {
    small_buffer means(together * d_);
    for (index_t s = panel * width; s < (panel + 1) * width; s += together) {
      gather(s, means.data());
      encode(s, means.data());
    }
  }

  struct region {
    double per_unit = 1.0;
    double inverse_most = 0.0;  ///< the largest 1/n
  };

  /// Eight clusters whose neighbours are sought, as a region sees them.
  class queries {
   public:
    /// Means, eight a column, and 1/n of `count` of them. Writes codes_of_eight() words to `codes`,
    /// and to `asked`, here and with each limit, what panels are asked.
    void load(const byte_panels& panels, index_t which, const double* means, const double* inverse,
              index_t count, std::uint32_t* codes, byte_query* asked) {
      query_ = asked;
      region_ = &panels.region_[at(which)];
      const auto put = [codes](index_t pair, const lanes& first, const lanes& second) {
        store_byte_pairs(first, second, codes + together * pair);
      };
      const rounded is = panels.round(means, which, put);
      is.sum.store(sum_);
      is.square.store(square_);
      is.off.store(error_);
      for (index_t i = 0; i < count; ++i) {
        error_[i] = most_off(error_[i]) + panels.allowed_;
        inverse_[i] = inverse[i];
        // codes of candidates are counted from -middle
        query_[i].codes = codes + i;
        query_[i].shift = static_cast<std::uint16_t>(static_cast<std::int32_t>(sum_[i]) * middle);
      }
    }

    /// Lets pass what costs so much or less.
    void limit(index_t i, double cost) noexcept {
      constexpr double slack = 1.0 + 1e-6;
      const double scaled = cost * region_->per_unit * region_->per_unit * slack;
      const double slope = scaled * region_->inverse_most * (1.0 + 0x1p-13);
      const double reach = std::sqrt(scaled * (inverse_[i] + region_->inverse_most)) * slack;
      const double extra = error_[i] * (2.0 * reach + error_[i]) * slack;
      const double base = 0.5 * (square_[i] - scaled * inverse_[i] - extra) - 4.0 + lift;
      const auto own = std::uint32_t{1} << static_cast<unsigned>(i);
      if (!(slope < 65534.0 && base > -32767.0)) {
        all_ |= own;
        return;
      }
      all_ &= ~own;
      query_[i].slope = static_cast<std::uint16_t>(slope + 1.0);
      query_[i].level = static_cast<std::int16_t>(std::floor(std::min(base, 32767.0)));
    }

    /// Bits of those queries of which bytes can't say what passes.
    [[nodiscard]] std::uint32_t take_all() const noexcept { return all_; }

   private:
    const region* region_ = nullptr;
    byte_query* query_ = nullptr;
    double square_[together] = {}, error_[together] = {}, inverse_[together] = {};
    double sum_[together] = {};
    std::uint32_t all_ = 0;
  };

  /// A panel's clusters.
  [[nodiscard]] byte_points points(index_t panel) const noexcept {
    const index_t first = panel * width;
    return {code_.data() + pairs_ * 2 * first, half_square_.data() + first, share_.data() + first};
  }
  /// Pairs of columns.
  [[nodiscard]] index_t pairs() const noexcept { return pairs_; }

  /// Words that the codes of eight queries take.
  [[nodiscard]] index_t codes_of_eight() const noexcept { return together * pairs_; }

 private:
  /// Two products of a candidate's code, in 0 … 2 middle, with a query's, in ± middle, fit into 16
  /// bits with a sign.
  static constexpr std::int32_t middle = 90;
  static constexpr double longest_square = 32767.0;
  /// Puts x̂ ŷ - |ŷ|²/2, from -49150 to 16384, into 16 bits with a sign.
  static constexpr std::int32_t lift = 16383;

  /// What eight points are rounded to: sums of codes, of their squares, and of the squares of what
  /// they are off by.
  struct rounded {
    lanes sum, square, off;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// Rounding errors of d coordinates: d/12 squared, and four times how far that strays.
  [[nodiscard]] static double allowed_error(index_t d) noexcept {
    const auto columns = static_cast<double>(d);
    return std::sqrt(columns / 12.0 + 4.0 * std::sqrt(columns / 180.0));
  }

  [[nodiscard]] std::uint8_t* codes_of(index_t slot) noexcept {
    return code_.data() + slot / width * pairs_ * 2 * width + slot % width * 2;
  }

  /// Means of eight slots, column by column; where there is no cluster, the origin.
  void gather(index_t first, double* means) const {
    const double* origin = origin_.data() + region_of(first / width) * d_;
    for (index_t i = 0; i < together; ++i) {
      const double* x = is_there(first + i) ? clusters_.mean(first + i) : origin;
      for (index_t j = 0; j < d_; ++j) means[together * j + i] = x[j];
    }
  }
  [[nodiscard]] bool is_there(index_t slot) const noexcept {
    return slot < clusters_.slots() && clusters_.occupied(slot);
  }

  /// Rounds eight points, given column by column; put(pair, codes, codes) takes two columns of them
  /// at a time.
  template <class Put>
  [[nodiscard]] rounded round(const double* means, index_t which, const Put& put) const {
    const lanes scale = into_ball(means, which);
    const lanes none = lanes::all(0.0);
    rounded to{none, none, none};
    const auto code_of = [&](index_t j) {
      if (j >= d_) return lanes::all(0.0);
      const lanes is = in_cube(means, which, j) * scale;
      const lanes code = whole(is);
      to.sum = to.sum + code;
      to.square = to.square + code * code;
      to.off = to.off + (is - code) * (is - code);
      return code;
    };
    for (index_t p = 0; p < pairs_; ++p) {
      const lanes first = code_of(2 * p);
      put(p, first, code_of(2 * p + 1));
    }
    return to;
  }
  [[nodiscard]] static double most_off(double square) noexcept {
    return std::sqrt(square) * (1.0 + 1e-6) + 1e-6;
  }

  /// A column of eight points in a region's units, moved into the cube.
  [[nodiscard]] lanes in_cube(const double* means, index_t which, index_t j) const noexcept {
    const lanes x = lanes::load(means + together * j);
    const lanes is = (x - origin_[at(which * d_ + j)]) * region_[at(which)].per_unit;
    return smaller(larger(is, lanes::all(-1.0 * middle)), lanes::all(1.0 * middle));
  }

  /// What moves eight points of the cube into the ball.
  [[nodiscard]] lanes into_ball(const double* means, index_t which) const noexcept {
    lanes square = lanes::all(0.0);
    for (index_t j = 0; j < d_; ++j) {
      const lanes is = in_cube(means, which, j);
      square = square + is * is;
    }
    double scale[together];
    square.store(scale);
    for (double& s : scale) s = s <= longest_ * longest_ ? 1.0 : longest_ / std::sqrt(s);
    return lanes::load(scale);
  }

  /// By what a panel's points are to be divided, lest they be longer or have larger coordinates
  /// than bytes hold.
  void measure(index_t panel, std::vector<double>& need) const {
    small_buffer means(together * d_);
    const double* origin = origin_.data() + region_of(panel) * d_;
    const index_t end = std::min((panel + 1) * width, clusters_.slots());
    for (index_t s = panel * width; s < end; s += together) {
      gather(s, means.data());
      lanes square = lanes::all(0.0);
      lanes most = square;
      for (index_t j = 0; j < d_; ++j) {
        const lanes is = lanes::load(means.data() + together * j) - origin[j];
        square = square + is * is;
        most = larger(most, size_of(is));
      }
      double squares[together], largest[together];
      square.store(squares);
      most.store(largest);
      for (index_t i = 0; i < std::min(together, end - s); ++i) {
        need[at(s + i)] = std::max(std::sqrt(squares[i]) / longest_, largest[i] / (middle - 1.0));
      }
    }
  }

  /// The unit of a region of panels, such that most of its points fit.
  void scale(index_t which, index_t first_panel, index_t end_panel,
             const std::vector<double>& need) {
    region& to = region_[at(which)];
    to = {};
    std::vector<double> needs;
    const index_t end = std::min(end_panel * width, clusters_.slots());
    for (index_t s = first_panel * width; s < end; ++s) {
      if (!clusters_.occupied(s)) continue;
      needs.push_back(need[at(s)] / room_);
      to.inverse_most = std::max(to.inverse_most, 1.0 / clusters_.size(s));
    }
    if (needs.empty()) return;
    const auto most =
        needs.begin() + static_cast<std::ptrdiff_t>(needs.size() - needs.size() / 4 - 1);
    std::nth_element(needs.begin(), most, needs.end());
    const double largest = *std::max_element(most, needs.end());
    to.per_unit = 1.0 / std::max(std::min(largest, 1.25 * *most), 1e-100);
  }

  /// The median of a point of each panel, column by column: a single wild point does not move it.
  void centre(index_t which, index_t first_panel, index_t end_panel) {
    std::vector<index_t> some;
    for (index_t p = first_panel; p < end_panel; ++p) {
      const index_t end = std::min((p + 1) * width, clusters_.slots());
      for (index_t s = p * width; s < end; ++s) {
        if (!clusters_.occupied(s)) continue;
        some.push_back(s);
        break;
      }
    }
    std::vector<double> x(some.size());
    for (index_t j = 0; j < d_; ++j) {
      for (std::size_t i = 0; i < some.size(); ++i) x[i] = clusters_.mean(some[i])[j];
      const auto half = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
      std::nth_element(x.begin(), half, x.end());
      origin_[at(which * d_ + j)] = x.empty() ? 0.0 : *half;
    }
  }

  /// Where there is no cluster the code is 0, and taking -2^15 from it gives the least there is,
  /// which never passes; what is rounded too far is 0 as well, and taking 1 - 2^15 gives the most.
  void encode(index_t first, const double* means) {
    const index_t which = region_of(first / width);
    const auto put = [&](index_t pair, const lanes& x, const lanes& y) {
      store_codes(x, y, codes_of(first) + pair * 2 * width);
    };
    const rounded is = round(means, which, put);
    double square[together], off[together];
    is.square.store(square);
    is.off.store(off);
    for (index_t slot = first; slot < first + together; ++slot) {
      const auto i = slot - first;
      if (!is_there(slot)) {
        half_square_[at(slot)] = -32768;
        share_[at(slot)] = 0;
      } else if (!(most_off(off[i]) <= allowed_)) {
        clear(slot);
        half_square_[at(slot)] = -32767;
        share_[at(slot)] = 32767;
      } else {
        half_square_[at(slot)] =
            static_cast<std::int16_t>(static_cast<std::int32_t>(0.5 * square[i]) - lift);
        share_[at(slot)] = share_of(clusters_.size(slot), region_[at(which)]);
      }
    }
  }

  [[nodiscard]] static std::int16_t share_of(double size, const region& of) noexcept {
    const double share = std::ceil(32768.0 / (size * of.inverse_most));
    return static_cast<std::int16_t>(std::min(32767.0, share));
  }

  void clear(index_t slot) {
    std::uint8_t* to = codes_of(slot);
    for (index_t p = 0; p < pairs_; ++p, to += 2 * width) to[0] = to[1] = middle;
  }

  /// Two columns of eight points.
  static void store_codes(const lanes& x, const lanes& y, std::uint8_t* to) noexcept {
    double of_x[together], of_y[together];
    x.store(of_x);
    y.store(of_y);
    for (index_t i = 0; i < together; ++i) {
      to[2 * i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(of_x[i]) + middle);
      to[2 * i + 1] = static_cast<std::uint8_t>(static_cast<std::int32_t>(of_y[i]) + middle);
    }
  }

  const Clusters& clusters_;
  index_t d_, pairs_;
  double allowed_;
  double longest_;     ///< rounding makes no point of this length too long
  double room_ = 1.0;  ///< the share of what bytes hold that most of a region's points fill
  std::vector<std::uint8_t> code_;         ///< a panel: for every 2 columns 48 pairs
  std::vector<std::int16_t> half_square_;  ///< |ŷ|²/2 - lift
  std::vector<std::int16_t> share_;        ///< 2^15 of 1/n over the largest 1/n
  std::vector<ward_id> region_of_;         ///< of a panel
  std::vector<region> region_;
  std::vector<double> origin_;  ///< d a region
};

}  // namespace bhclust::detail
