/// @file
/// Searches for the nearest neighbours of up to 64 clusters at a time.
#pragma once

#include <bhclust/detail/box_tree.hpp>
#include <bhclust/detail/byte_panels.hpp>
#include <bhclust/detail/byte_products.hpp>
#include <bhclust/detail/kd_panels.hpp>
#include <bhclust/detail/leaf_boxes.hpp>
#include <bhclust/detail/nearest_lists.hpp>
#include <bhclust/detail/panel_floats.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// How far down searches go by boxes: to single panels; to leaves, of which they look into all
/// panels; not at all, so that they look into every panel there is.
enum class search_depth { panels, leaves, none };

/// Clusters are searched for together, panel by panel, so that they share what is in the cache. Of
/// floats or bytes only what may be near is scored, in float64 from differences.
template <class Clusters>
class panel_search {
  using floats = panel_floats<Clusters>;
  using bytes = byte_panels<Clusters>;
  using boxes = leaf_boxes<Clusters>;
  static constexpr index_t width = floats::width;

 public:
  explicit panel_search(const kd_panels<Clusters>& index)
      : index_(index),
        clusters_(index.clusters()),
        tree_(index.tree()),
        leaves_(index.leaves()),
        floats_(index.floats()),
        bytes_(index.bytes()),
        d_(clusters_.columns()),
        x_(at(most * d_)),
        q_(at(lanes::count * d_)),
        codes_(at(eights * bytes_.codes_of_eight())),
        scratch_(at(clusters_.scratch())),
        weight_(Clusters::is_ward ? 0 : x_.size()),
        weight_of_(weight_.size()) {}

  void clear() noexcept {
    count_ = 0;
    own_.clear();
  }
  /// Whether there is no room for another panel of queries.
  [[nodiscard]] bool full() const noexcept { return count_ + width > most; }
  [[nodiscard]] index_t size() const noexcept { return count_; }
  [[nodiscard]] index_t slot(index_t i) const noexcept { return query_[at(i)].slot; }
  [[nodiscard]] const short_list& found(index_t i) const noexcept { return query_[at(i)].list; }

  /// `known` may hold neighbours that are known already.
  void add(index_t slot, const short_list& known) {
    query_[at(count_)] = {slot, known};
    const double* mean = clusters_.mean(slot);
    double* to = x_.data() + count_ / lanes::count * lanes::count * d_ + count_ % lanes::count;
    for (index_t j = 0; j < d_; ++j) to[j * lanes::count] = mean[j];
    inverse_[at(count_)] = 1.0 / clusters_.size(slot);
    bound_[at(count_)] = known.beyond();
    region_[at(count_ / lanes::count)] = -1;
    if constexpr (!Clusters::is_ward) {
      clusters_.load(screened_[at(count_)], slot);
      weigh(count_);
    }
    if (own_.empty() || own_.back().panel != slot / width) own_.push_back({slot / width, 0});
    own_.back().queries |= std::uint64_t{1} << static_cast<unsigned>(count_);
    ++count_;
  }

  /// Completes the lists; returns how many panels were looked into, a query at a time. Where all
  /// are, `turn` says whether the last comes first: every other time, panels are met again while
  /// the cache still has them.
  index_t run(search_depth depth, bool turn = false) {
    scanned_ = 0;
    passed_ = 0;
    offered_ = 0;
    taken_ = 0;
    whole_leaves_ = depth == search_depth::leaves;
    pad();
    for (const auto& own : own_) scan(own.panel, own.queries);
    std::uint64_t all = 0;
    for (const auto& own : own_) all |= own.queries;
    if (depth == search_depth::none) {
      const index_t last = index_.panels() - 1;
      for (index_t k = 0; k <= last; ++k) {
        const index_t p = turn ? last - k : k;
        visit_panel(p, others(p, all));
      }
    } else {
      descend(all);
    }
    score_waiting();
    return scanned_;
  }

  /// Clusters that bytes let pass.
  [[nodiscard]] index_t passed() const noexcept { return passed_; }
  /// Panels in the leaves that were come to, and those of them that their own boxes left.
  [[nodiscard]] index_t offered() const noexcept { return offered_; }
  [[nodiscard]] index_t taken() const noexcept { return taken_; }

 private:
  struct query {
    index_t slot = 0;
    short_list list;
  };
  struct visit {
    index_t box;
    std::uint64_t queries;
  };
  struct pending {
    index_t query, slot;
  };
  struct home {
    index_t panel;
    std::uint64_t queries;
  };
  /// Bits of a mask.
  static constexpr index_t most = 64;
  static constexpr index_t eights = most / lanes::count;
  static constexpr double slightly_more = 1.0 + 0x1p-20;
  /// So many candidates wait until their means have come from memory.
  static constexpr index_t enough = 16;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// Those of the queries that are not from the panel.
  [[nodiscard]] std::uint64_t others(index_t panel, std::uint64_t queries) const noexcept {
    for (const auto& own : own_) {
      if (own.panel == panel) queries &= ~own.queries;
    }
    return queries;
  }

  /// Unused lanes of the last block: nothing is near them.
  void pad() noexcept {
    for (index_t i = count_; i % lanes::count != 0; ++i) {
      inverse_[at(i)] = -std::numeric_limits<double>::infinity();
      bound_[at(i)] = 1.0;
      double* to = x_.data() + i / lanes::count * lanes::count * d_ + i % lanes::count;
      for (index_t j = 0; j < d_; ++j) to[j * lanes::count] = 0.0;
    }
  }

  void descend(std::uint64_t all) {
    open_.assign(1, {0, all});
    while (!open_.empty()) {
      const visit next = open_.back();
      open_.pop_back();
      const std::uint64_t queries = near(next);
      if (queries == 0) continue;
      const index_t right = tree_.right(next.box);
      if (right < 0) {
        visit_leaf(tree_.leaf(next.box), queries);
        continue;
      }
      const index_t left = tree_.left(next.box);
      const bool left_first = distance(left) <= distance(right);
      open_.push_back({left_first ? right : left, queries});
      open_.push_back({left_first ? left : right, queries});
    }
  }

  /// Squared distance of the first query from a box, for the order of visits.
  [[nodiscard]] double distance(index_t box) const noexcept {
    const double* low = tree_.low(box);
    const double* high = low + d_;
    const double* x = clusters_.mean(slot(0));
    double sum = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      const double out = std::max({low[j] - x[j], x[j] - high[j], 0.0});
      sum += out * out;
    }
    return sum;
  }

  /// Which of the queries may have a neighbour in the box.
  [[nodiscard]] std::uint64_t near(const visit& v) const noexcept {
    std::uint64_t found = 0;
    for (index_t eight = 0; eight * lanes::count < count_; ++eight) {
      const auto shift = static_cast<unsigned>(eight * lanes::count);
      const std::uint64_t asked = (v.queries >> shift) & lanes::every;
      if (asked != 0) found |= (near_of_eight(v.box, eight) & asked) << shift;
    }
    return found;
  }

  [[nodiscard]] std::uint64_t near_of_eight(index_t box, index_t eight) const noexcept {
    constexpr double rounding = 1.0 + 0x1p-40;
    const double* low = tree_.low(box);
    const double* high = low + d_;
    const double* x = x_.data() + eight * lanes::count * d_;
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < d_; ++j) {
      const lanes here = lanes::load(x + j * lanes::count);
      const lanes out = at_least(larger(lanes::all(low[j]) - here, here - high[j]), 0.0);
      if constexpr (Clusters::is_ward) {
        sum = sum + out * out;
      } else {
        sum = sum + out * out * lanes::load(weight_.data() + (eight * d_ + j) * lanes::count);
      }
    }
    const double smallest = tree_.inverse_most(box);
    const lanes inverse = lanes::load(inverse_.data() + eight * lanes::count);
    const lanes both = inverse + smallest;
    const lanes limit = lanes::load(bound_.data() + eight * lanes::count) * (both * rounding);
    return bits_at_most(sum, limit + 2.0 * clusters_.rounding());
  }

  void scan(index_t panel, std::uint64_t queries) {
    for (; queries != 0; queries &= queries - 1) {
      ++scanned_;
      scan_for(lowest_bit(queries), panel);
    }
  }

  /// The panels of a leaf, for those of the queries that may have a neighbour there.
  void visit_leaf(index_t leaf, std::uint64_t queries) {
    const index_t first = leaf * boxes::together;
    if (whole_leaves_) {
      // one of them is asked nonetheless, to know whether boxes exclude more again
      const index_t one = lowest_bit(queries);
      static_cast<void>(
          near_panels(one / lanes::count, std::uint64_t{1} << one % lanes::count, leaf));
      for (index_t p = first; p < leaves_.end(leaf); ++p) visit_panel(p, others(p, queries));
      return;
    }
    std::array<std::uint64_t, static_cast<std::size_t>(boxes::together)> of_panel{};
    for (index_t eight = 0; eight < eights; ++eight) {
      const std::uint64_t asked = queries >> eight * lanes::count & lanes::every;
      if (asked == 0) continue;
      std::uint64_t near = transposed_bits(near_panels(eight, asked, leaf));
      for (index_t k = 0; k < boxes::together; ++k, near >>= lanes::count) {
        of_panel[at(k)] |= (near & lanes::every) << eight * lanes::count;
      }
    }
    for (index_t p = first; p < leaves_.end(leaf); ++p) {
      const std::uint64_t asked = others(p, of_panel[at(p - first)]);
      if (asked != 0) visit_panel(p, asked);
    }
  }

  /// Which of a leaf's panels may have a neighbour of a query: a byte each for eight of them.
  [[nodiscard]] std::uint64_t near_panels(index_t eight, std::uint64_t asked,
                                          index_t leaf) noexcept {
    const index_t first = eight * lanes::count;
    const double* x = x_.data() + first * d_;
    const double* centre = leaves_.centre(leaf);
    for (index_t j = 0; j < d_; ++j) {
      store_floats(lanes::load(x + j * lanes::count) - centre[j], q_.data() + j * lanes::count);
    }
    std::uint64_t near = 0;
    for (; asked != 0; asked &= asked - 1) {
      const index_t lane = lowest_bit(asked);
      const index_t i = first + lane;
      const auto most_of = static_cast<float>(bound_[at(i)] * slightly_more);
      const float* weights = Clusters::is_ward ? nullptr : weight_of_.data() + i * d_;
      const std::uint64_t bits = leaves_.near(leaf, q_.data() + lane, weights, most_of,
                                              static_cast<float>(inverse_[at(i)]));
      near |= bits << lane * lanes::count;
      offered_ += boxes::together;
      taken_ += bits_set(bits);
    }
    return near;
  }

  void visit_panel(index_t panel, std::uint64_t queries) {
    if (index_.with_bytes()) {
      scan_bytes(panel, queries);
    } else {
      scan(panel, queries);
    }
  }

  /// A panel for some queries; those that bytes can't help go the long way.
  void scan_bytes(index_t panel, std::uint64_t queries) {
    const index_t region = bytes_.region_of(panel);
    index_t asked[most + byte_query::together];
    index_t n = 0;
    for (index_t eight = 0; queries != 0; ++eight, queries >>= lanes::count) {
      std::uint64_t some = queries & lanes::every;
      if (some == 0) continue;
      if (region_[at(eight)] != region) enter(eight, region);
      const std::uint64_t unhelped = some & coded_[at(eight)].take_all();
      if (unhelped != 0) scan_unhelped(panel, eight, unhelped);
      for (some &= ~unhelped; some != 0; some &= some - 1) {
        asked[n++] = eight * lanes::count + lowest_bit(some);
      }
    }
    if (n > 0) ask_bytes(panel, asked, n);
    if (waits_ > enough) score_waiting();
  }

  void enter(index_t eight, index_t region) {
    auto& coded = coded_[at(eight)];
    const index_t first = eight * lanes::count;
    const index_t some = std::min(lanes::count, count_ - first);
    coded.load(bytes_, region, x_.data() + first * d_, inverse_.data() + first, some,
               codes_.data() + eight * bytes_.codes_of_eight(), code_.data() + first);
    for (index_t i = 0; i < some; ++i) coded.limit(i, query_[at(first + i)].list.beyond());
    region_[at(eight)] = region;
  }

  void scan_unhelped(index_t panel, index_t eight, std::uint64_t asked) {
    scan(panel, asked << static_cast<unsigned>(eight * lanes::count));
    for (; asked != 0; asked &= asked - 1) {
      const index_t i = lowest_bit(asked);
      coded_[at(eight)].limit(i, query_[at(eight * lanes::count + i)].list.beyond());
    }
  }

  /// A few queries at a time, so that each panel is read less often; there is room for as many
  /// more.
  void ask_bytes(index_t panel, index_t* asked, index_t n) {
    constexpr index_t few = byte_query::together;
    scanned_ += n;
    std::fill_n(asked + n, few, asked[n - 1]);
    const byte_points points = bytes_.points(panel);
    for (index_t k = 0; k < n; k += few) {
      const byte_query* of[few];
      for (index_t t = 0; t < few; ++t) of[t] = &code_[at(asked[k + t])];
      std::uint64_t pass[few];
      byte_passing(points, bytes_.pairs(), of, pass);
      for (index_t t = 0; t < few; ++t) {
        if (pass[t] != 0 && k + t < n) put_off(asked[k + t], panel, pass[t]);
      }
    }
  }

  /// Those clusters of a panel are to be scored, once their means have come from memory.
  void put_off(index_t i, index_t panel, std::uint64_t places) {
    for (; places != 0; places &= places - 1) {
      const index_t slot = panel * width + lowest_bit(places);
      fetch_early(clusters_.mean(slot), d_);
      waiting_[at(waits_++)] = {i, slot};
      if (waits_ == most) score_waiting();
    }
  }

  void score_waiting() {
    passed_ += waits_;
    for (index_t k = 0; k < waits_; ++k) {
      const auto [i, slot] = waiting_[at(k)];
      query& q = query_[at(i)];
      const double before = q.list.beyond();
      q.list.offer({clusters_.cost(q.slot, slot), clusters_.node(slot)});
      if (!(q.list.beyond() < before)) continue;
      bound_[at(i)] = q.list.beyond();
      coded_[at(i / lanes::count)].limit(i % lanes::count, q.list.beyond());
    }
    waits_ = 0;
  }

  void scan_for(index_t i, index_t panel) {
    query& q = query_[at(i)];
    const double* x = clusters_.mean(q.slot);
    const double* centre = floats_.centre(panel);
    for (index_t j = 0; j < d_; ++j) q_[at(j)] = static_cast<float>(x[j] - centre[j]);
    float a = 0.0F;
    float b = 0.0F;
    const auto follow_list = [&] {
      a = static_cast<float>(q.list.beyond() * floats_.slack());
      b = a * static_cast<float>(inverse_[at(i)]) + floats_.margin(panel);
    };
    follow_list();
    float apart[width];
    typename floats::pass_bits pass;
    const float* weights = Clusters::is_ward ? nullptr : weight_of_.data() + i * d_;
    if (!floats_.within(panel, q_.data(), weights, a, b, apart, pass)) return;
    if constexpr (!Clusters::is_ward) {
      score_screened(i, panel, pass);
      return;
    }
    const float* inverse = floats_.inverse(panel);
    for (index_t lane = 0; lane < static_cast<index_t>(pass.size()); ++lane) {
      for (std::uint32_t bits = pass[at(lane)]; bits != 0; bits &= bits - 1) {
        const index_t place = floats::place(lowest_bit(bits), lane);
        const index_t slot = panel * width + place;
        if (slot == q.slot || !(apart[place] <= a * inverse[place] + b)) continue;
        q.list.offer({clusters_.cost(q.slot, slot), clusters_.node(slot)});
        follow_list();
      }
    }
    bound_[at(i)] = q.list.beyond();
  }

  /// The slots of a panel that pass, those with the least bounds first.
  void score_screened(index_t i, index_t panel, const typename floats::pass_bits& pass) {
    std::array<ward_neighbour, static_cast<std::size_t>(width)> near{};
    index_t n = 0;
    for (index_t lane = 0; lane < static_cast<index_t>(pass.size()); ++lane) {
      for (std::uint32_t bits = pass[at(lane)]; bits != 0; bits &= bits - 1) {
        const index_t slot = panel * width + floats::place(lowest_bit(bits), lane);
        if (slot != query_[at(i)].slot) near[at(n++)].node = static_cast<ward_id>(slot);
      }
    }
    score_screened(i, near.data(), n);
    bound_[at(i)] = query_[at(i)].list.beyond();
  }

  /// Slots, by the names of nodes.
  void score_screened(index_t i, ward_neighbour* near, index_t n) {
    query& q = query_[at(i)];
    for (index_t k = 0; k < n; k += lanes::count) {
      clusters_.bounds(screened_[at(i)], near + k, std::min(lanes::count, n - k), scratch_.data());
    }
    std::sort(near, near + n);
    for (index_t k = 0; k < n && near[k].cost <= q.list.beyond(); ++k) {
      const index_t slot = near[k].node;
      q.list.offer({clusters_.cost(q.slot, slot), clusters_.node(slot)});
    }
    constexpr double much = 0.8;
    if (q.list.beyond() < much * weighed_for_[at(i)]) weigh(i);
  }

  /// What squares count for at least, as far as clusters are concerned that are nearer than what
  /// was found.
  void weigh(index_t i) {
    const double beyond = query_[at(i)].list.beyond();
    float* to = weight_of_.data() + i * d_;
    clusters_.weights(query_[at(i)].slot, beyond, tree_.inverse_most(0), index_.smallest_inverse(),
                      to);
    double* eight = weight_.data() + i / lanes::count * lanes::count * d_ + i % lanes::count;
    for (index_t j = 0; j < d_; ++j) eight[j * lanes::count] = to[j];
    weighed_for_[at(i)] = beyond;
  }

  const kd_panels<Clusters>& index_;
  const Clusters& clusters_;
  const box_tree& tree_;
  const boxes& leaves_;
  const floats& floats_;
  const bytes& bytes_;
  index_t d_;
  index_t count_ = 0;
  index_t scanned_ = 0;
  index_t passed_ = 0;
  index_t waits_ = 0;
  index_t offered_ = 0;
  index_t taken_ = 0;
  bool whole_leaves_ = false;
  std::array<query, static_cast<std::size_t>(most)> query_{};
  std::array<double, static_cast<std::size_t>(most)> inverse_{}, bound_{};
  std::array<byte_query, static_cast<std::size_t>(most)> code_{};
  std::array<typename bytes::queries, static_cast<std::size_t>(eights)> coded_{};
  std::array<index_t, static_cast<std::size_t>(eights)> region_{};  ///< of coded_
  std::array<pending, static_cast<std::size_t>(most)> waiting_{};
  std::vector<home> own_;
  std::vector<double> x_;
  std::vector<float> q_;
  std::vector<std::uint32_t> codes_;
  std::vector<double> scratch_;
  std::array<double, static_cast<std::size_t>(most)> weighed_for_{};
  std::vector<double> weight_;    ///< as x_
  std::vector<float> weight_of_;  ///< d a query
  std::vector<visit> open_;
  std::array<typename Clusters::screened, static_cast<std::size_t>(most)> screened_{};
};

}  // namespace bhclust::detail
