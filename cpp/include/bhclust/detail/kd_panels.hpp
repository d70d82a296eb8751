/// @file
/// Exact nearest-neighbour search in Ward's cost: panels of neighbouring clusters in float32 under
/// a tree of boxes.
#pragma once

#include <bhclust/detail/byte_panels.hpp>
#include <bhclust/detail/kd_order.hpp>
#include <bhclust/detail/nearest_lists.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Floats that begin a cache line, so that no vector of them lies across two.
class line_of_floats {
 public:
  void resize(index_t n) {
    held_.assign(static_cast<std::size_t>(n) + line, 0.0F);
    const auto past = reinterpret_cast<std::uintptr_t>(held_.data()) / sizeof(float) % line;
    first_ = past == 0 ? 0 : line - past;
  }
  [[nodiscard]] float* data() noexcept { return held_.data() + first_; }
  [[nodiscard]] const float* data() const noexcept { return held_.data() + first_; }

 private:
  static constexpr std::size_t line = 64 / sizeof(float);
  std::vector<float> held_;
  std::size_t first_ = 0;
};

/// How far down searches go by boxes: to single panels; to leaves, of which they look into all
/// panels; not at all, so that they look into every panel there is.
enum class search_depth { panels, leaves, none };

/// Slots in panels of 48. A panel holds float32 coordinates counted from its own centre and 1/n,
/// which find what may be near; every such cluster is scored again in float64 from differences, so
/// that results depend on neither the panels nor the instruction set.
///
/// Where d* is not Ward's cost of the points that `Clusters` gives, the columns' squares count at
/// least as much as `Clusters::weights` says, given what a search has found (root_clusters.hpp),
/// and whatever may be near goes through the clusters' own bounds before it is scored.
template <class Clusters>
class kd_panels {
 public:
  using bytes = byte_panels<Clusters>;
  static constexpr index_t width = bytes::width;

 private:
  /// Neighbours side by side in a vector, and vectors in a panel.
  static constexpr index_t vector_width = sizeof(float_chunk) / sizeof(float);
  static constexpr std::size_t vectors = width / vector_width;
  /// Bit v of word l: lane l of vector v.
  using pass_bits = std::array<std::uint32_t, vector_width>;
  static constexpr index_t panels_a_region = 16;
  static constexpr index_t together = panels_together;

 public:
  explicit kd_panels(const Clusters& clusters)
      : clusters_(clusters),
        d_(clusters.columns()),
        box_slack_((1.0 + 1.0 / 1024.0) * (1.0 + 0x1p-21 * static_cast<double>(d_ + 8))),
        slack_((1.0 + 1.0 / 64.0) * (1.0 + 0x1p-21 * static_cast<double>(d_ + 8))),
        bytes_(clusters) {}

  [[nodiscard]] index_t panels() const noexcept { return static_cast<index_t>(margin_.size()); }
  [[nodiscard]] static index_t panel_of(index_t slot) noexcept { return slot / width; }

  /// Panels and boxes of all slots.
  void rebuild(thread_team& team, progress_meter& progress) {
    const index_t count = (clusters_.slots() + width - 1) / width;
    if (count != panels()) lay_out(count);
    constexpr index_t share = 8;
    const index_t leaves = blocks();
    team.run((leaves + share - 1) / share,
             [&](int, index_t c) {
               for (index_t k = c * share; k < std::min(leaves, (c + 1) * share); ++k) {
                 for (index_t p = k * together; p < last_of(k); ++p) fill(p);
                 put_together(k);
               }
             },
             [&] { progress.tick(); });
    for (index_t b = boxes() - 1; b >= 0; --b) enclose(b);
    smallest_inverse_ = *std::min_element(inverse_least_.begin(), inverse_least_.end());
    if (with_bytes_) fill_bytes(team, progress);
  }

  /// From now on panels are kept in bytes as well, or no longer. `flat`: for searches that look
  /// into all of them.
  void use_bytes(bool use, bool flat, thread_team& team, progress_meter& progress) {
    with_bytes_ = Clusters::is_ward && use && bytes::takes(d_);
    one_region_ = flat;
    bytes_.clear();
    if (with_bytes_) fill_bytes(team, progress);
  }
  [[nodiscard]] bool with_bytes() const noexcept { return with_bytes_; }

  /// After a change of one slot.
  void refresh(index_t slot) {
    const index_t panel = panel_of(slot);
    fill(panel);
    put_together(panel / together);
    smallest_inverse_ = std::min(smallest_inverse_, inverse_least_[at(panel)]);
    if (with_bytes_) bytes_.refresh(panel);
    path_.clear();
    index_t first = 0;
    index_t count = panels();
    for (index_t b = 0; count > together;) {
      path_.push_back(b);
      const index_t left = left_panels(count);
      const bool right = panel >= first + left;
      b = right ? right_[at(b)] : b + 1;
      first += right ? left : 0;
      count = right ? count - left : left;
    }
    for (; !path_.empty(); path_.pop_back()) enclose(path_.back());
  }

  /// Searches for some clusters together, panel by panel, so that they share what is in the cache.
  class search {
   public:
    explicit search(const kd_panels& index)
        : index_(index),
          x_(at(most * index.d_)),
          q_(at(lanes::count * index.d_)),
          codes_(at(blocks_of_queries * index.bytes_.codes_of_eight())),
          block_(at(index.clusters_.scratch())),
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
      const double* mean = index_.clusters_.mean(slot);
      double* to =
          x_.data() + count_ / lanes::count * lanes::count * index_.d_ + count_ % lanes::count;
      for (index_t j = 0; j < index_.d_; ++j) to[j * lanes::count] = mean[j];
      inverse_[at(count_)] = 1.0 / index_.clusters_.size(slot);
      bound_[at(count_)] = known.beyond();
      region_[at(count_ / lanes::count)] = -1;
      if constexpr (!Clusters::is_ward) {
        index_.clusters_.load(screened_[at(count_)], slot);
        weigh(count_);
      }
      if (own_.empty() || own_.back().panel != panel_of(slot)) own_.push_back({panel_of(slot), 0});
      own_.back().queries |= std::uint64_t{1} << static_cast<unsigned>(count_);
      ++count_;
    }

    /// Completes the lists; returns how many panels were looked into, a query at a time.
    index_t run(search_depth depth) {
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
        for (index_t p = 0; p < index_.panels(); ++p) visit_panel(p, others(p, all));
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
    static constexpr index_t blocks_of_queries = most / lanes::count;
    static constexpr double slightly_more = 1.0 + 0x1p-20;
    /// So many candidates wait until their means have come from memory.
    static constexpr index_t enough = 16;

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
        double* to = x_.data() + i / lanes::count * lanes::count * index_.d_ + i % lanes::count;
        for (index_t j = 0; j < index_.d_; ++j) to[j * lanes::count] = 0.0;
      }
    }

    void descend(std::uint64_t all) {
      open_.assign(1, {0, all});
      while (!open_.empty()) {
        const visit next = open_.back();
        open_.pop_back();
        const std::uint64_t queries = near(next);
        if (queries == 0) continue;
        const index_t right = index_.right_[at(next.box)];
        if (right < 0) {
          visit_block(-1 - right, queries);
          continue;
        }
        const index_t left = next.box + 1;
        const bool left_first = distance(left) <= distance(right);
        open_.push_back({left_first ? right : left, queries});
        open_.push_back({left_first ? left : right, queries});
      }
    }

    /// Squared distance of the first query from a box, for the order of visits.
    [[nodiscard]] double distance(index_t box) const noexcept {
      const double* low = index_.low(box);
      const double* high = low + index_.d_;
      const double* x = index_.clusters_.mean(slot(0));
      double sum = 0.0;
      for (index_t j = 0; j < index_.d_; ++j) {
        const double out = std::max({low[j] - x[j], x[j] - high[j], 0.0});
        sum += out * out;
      }
      return sum;
    }

    /// Which of the queries may have a neighbour in the box.
    [[nodiscard]] std::uint64_t near(const visit& v) const noexcept {
      std::uint64_t found = 0;
      for (index_t block = 0; block * lanes::count < count_; ++block) {
        const auto shift = static_cast<unsigned>(block * lanes::count);
        const std::uint64_t asked = (v.queries >> shift) & 0xFFU;
        if (asked != 0) found |= (near_of_block(v.box, block) & asked) << shift;
      }
      return found;
    }

    [[nodiscard]] std::uint64_t near_of_block(index_t box, index_t block) const noexcept {
      constexpr double rounding = 1.0 + 0x1p-40;
      const index_t d = index_.d_;
      const double* low = index_.low(box);
      const double* high = low + d;
      const double* x = x_.data() + block * lanes::count * d;
      lanes sum = lanes::all(0.0);
      for (index_t j = 0; j < d; ++j) {
        const lanes here = lanes::load(x + j * lanes::count);
        const lanes out = at_least(larger(lanes::all(low[j]) - here, here - high[j]), 0.0);
        if constexpr (Clusters::is_ward) {
          sum = sum + out * out;
        } else {
          sum = sum + out * out * lanes::load(weight_.data() + (block * d + j) * lanes::count);
        }
      }
      const double smallest = index_.inverse_most_[at(box)];
      const lanes inverse = lanes::load(inverse_.data() + block * lanes::count);
      const lanes both = inverse + smallest;
      const lanes limit = lanes::load(bound_.data() + block * lanes::count) * (both * rounding);
      return bits_at_most(sum, limit + 2.0 * index_.clusters_.rounding());
    }

    void scan(index_t panel, std::uint64_t queries) {
      for (; queries != 0; queries &= queries - 1) {
        ++scanned_;
        scan_for(lowest_bit(queries), panel);
      }
    }

    /// The panels of a leaf, for those of the queries that may have a neighbour there.
    void visit_block(index_t block, std::uint64_t queries) {
      const index_t first = block * together;
      if (whole_leaves_) {
        // one of them is asked nonetheless, to know whether boxes exclude more again
        const index_t one = lowest_bit(queries);
        static_cast<void>(
            near_panels(one / lanes::count, std::uint64_t{1} << one % lanes::count, block));
        for (index_t p = first; p < index_.last_of(block); ++p) visit_panel(p, others(p, queries));
        return;
      }
      std::array<std::uint64_t, static_cast<std::size_t>(together)> of_panel{};
      for (index_t eight = 0; queries >> eight * lanes::count != 0; ++eight) {
        const std::uint64_t asked = queries >> eight * lanes::count & lanes::every;
        if (asked == 0) continue;
        std::uint64_t near = transposed_bits(near_panels(eight, asked, block));
        for (index_t k = 0; k < together; ++k, near >>= lanes::count) {
          of_panel[at(k)] |= (near & lanes::every) << eight * lanes::count;
        }
      }
      for (index_t p = first; p < index_.last_of(block); ++p) {
        const std::uint64_t asked = others(p, of_panel[at(p - first)]);
        if (asked != 0) visit_panel(p, asked);
      }
    }

    /// Which of a leaf's panels may have a neighbour of a query: a byte each for eight of them.
    [[nodiscard]] std::uint64_t near_panels(index_t eight, std::uint64_t asked,
                                            index_t block) noexcept {
      const index_t d = index_.d_;
      const index_t first = eight * lanes::count;
      const double* x = x_.data() + first * d;
      const double* centre = index_.block_centre_.data() + block * d;
      for (index_t j = 0; j < d; ++j) {
        store_floats(lanes::load(x + j * lanes::count) - centre[j], q_.data() + j * lanes::count);
      }
      std::uint64_t near = 0;
      for (; asked != 0; asked &= asked - 1) {
        const index_t lane = lowest_bit(asked);
        const index_t i = first + lane;
        const auto most_of = static_cast<float>(bound_[at(i)] * slightly_more);
        const float* weights = Clusters::is_ward ? nullptr : weight_of_.data() + i * d;
        const std::uint64_t bits = index_.boxes_at_most(block, q_.data() + lane, weights, most_of,
                                                        static_cast<float>(inverse_[at(i)]));
        near |= bits << lane * lanes::count;
        offered_ += together;
        taken_ += bits_set(bits);
      }
      return near;
    }

    void visit_panel(index_t panel, std::uint64_t queries) {
      if (index_.with_bytes_) {
        scan_bytes(panel, queries);
      } else {
        scan(panel, queries);
      }
    }

    /// A panel for some queries; those that bytes can't help go the long way.
    void scan_bytes(index_t panel, std::uint64_t queries) {
      const index_t region = index_.bytes_.region_of(panel);
      for (index_t block = 0; queries != 0; ++block, queries >>= lanes::count) {
        std::uint64_t asked = queries & lanes::every;
        if (asked == 0) continue;
        if (region_[at(block)] != region) enter(block, region);
        const std::uint64_t unhelped = asked & coded_[at(block)].take_all();
        if (unhelped != 0) scan_unhelped(panel, block, unhelped);
        ask_bytes(panel, block, asked & ~unhelped);
      }
      if (waits_ > enough) score_waiting();
    }

    void enter(index_t block, index_t region) {
      auto& coded = coded_[at(block)];
      const index_t first = block * lanes::count;
      const index_t some = std::min(lanes::count, count_ - first);
      coded.load(index_.bytes_, region, x_.data() + first * index_.d_, inverse_.data() + first,
                 some, codes_.data() + block * index_.bytes_.codes_of_eight());
      for (index_t i = 0; i < some; ++i) coded.limit(i, query_[at(first + i)].list.beyond());
      region_[at(block)] = region;
    }

    void scan_unhelped(index_t panel, index_t block, std::uint64_t asked) {
      scan(panel, asked << static_cast<unsigned>(block * lanes::count));
      for (; asked != 0; asked &= asked - 1) {
        const index_t i = lowest_bit(asked);
        coded_[at(block)].limit(i, query_[at(block * lanes::count + i)].list.beyond());
      }
    }

    /// A few queries at a time, so that each panel is read less often.
    void ask_bytes(index_t panel, index_t block, std::uint64_t asked) {
      constexpr index_t together = byte_query::together;
      const index_t first = block * lanes::count;
      while (asked != 0) {
        index_t of[together];
        index_t n = 0;
        for (; asked != 0 && n < together; asked &= asked - 1) of[n++] = lowest_bit(asked);
        for (index_t k = n; k < together; ++k) of[k] = of[0];
        std::uint64_t pass[together];
        coded_[at(block)].passing(index_.bytes_, panel, of, pass);
        scanned_ += n;
        for (index_t k = 0; k < n; ++k) {
          if (pass[k] != 0) put_off(first + of[k], panel, pass[k]);
        }
      }
    }

    /// Those clusters of a panel are to be scored, once their means have come from memory.
    void put_off(index_t i, index_t panel, std::uint64_t places) {
      for (; places != 0; places &= places - 1) {
        const index_t slot = panel * width + lowest_bit(places);
        fetch_ahead(index_.clusters_.mean(slot), index_.d_);
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
        if constexpr (Clusters::is_ward) {
          q.list.offer({index_.clusters_.cost(q.slot, slot), index_.clusters_.node(slot)});
        } else {
          ward_neighbour near{0.0, static_cast<ward_id>(slot)};
          score_screened(i, &near, 1);
        }
        if (!(q.list.beyond() < before)) continue;
        bound_[at(i)] = q.list.beyond();
        coded_[at(i / lanes::count)].limit(i % lanes::count, q.list.beyond());
      }
      waits_ = 0;
    }

    void scan_for(index_t i, index_t panel) {
      query& q = query_[at(i)];
      const index_t d = index_.d_;
      const double* x = index_.clusters_.mean(q.slot);
      const double* centre = index_.centre_.data() + panel * d;
      for (index_t j = 0; j < d; ++j) q_[at(j)] = static_cast<float>(x[j] - centre[j]);
      float a = 0.0F;
      float b = 0.0F;
      const auto follow_list = [&] {
        a = static_cast<float>(q.list.beyond() * index_.slack_);
        b = a * static_cast<float>(inverse_[at(i)]) + index_.margin_[at(panel)];
      };
      follow_list();
      float apart[width];
      pass_bits pass;
      const float* weights = Clusters::is_ward ? nullptr : weight_of_.data() + i * d;
      if (!index_.within(panel, q_.data(), weights, a, b, apart, pass)) return;
      if constexpr (!Clusters::is_ward) {
        score_screened(i, panel, pass);
        return;
      }
      const float* inverse = index_.inverse_size_.data() + panel * width;
      for (index_t lane = 0; lane < vector_width; ++lane) {
        for (std::uint32_t bits = pass[at(lane)]; bits != 0; bits &= bits - 1) {
          const index_t place = lowest_bit(bits) * vector_width + lane;
          const index_t slot = panel * width + place;
          if (slot == q.slot || !(apart[place] <= a * inverse[place] + b)) continue;
          q.list.offer({index_.clusters_.cost(q.slot, slot), index_.clusters_.node(slot)});
          follow_list();
        }
      }
      bound_[at(i)] = q.list.beyond();
    }

    /// The slots of a panel that pass, those with the least bounds first.
    void score_screened(index_t i, index_t panel, const pass_bits& pass) {
      std::array<ward_neighbour, static_cast<std::size_t>(width)> near{};
      index_t n = 0;
      for (index_t lane = 0; lane < vector_width; ++lane) {
        for (std::uint32_t bits = pass[at(lane)]; bits != 0; bits &= bits - 1) {
          const index_t slot = panel * width + lowest_bit(bits) * vector_width + lane;
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
        index_.clusters_.bounds(screened_[at(i)], near + k, std::min(lanes::count, n - k),
                                block_.data());
      }
      std::sort(near, near + n);
      for (index_t k = 0; k < n && near[k].cost <= q.list.beyond(); ++k) {
        const index_t slot = near[k].node;
        q.list.offer({index_.clusters_.cost(q.slot, slot), index_.clusters_.node(slot)});
      }
      constexpr double much = 0.8;
      if (q.list.beyond() < much * weighed_for_[at(i)]) weigh(i);
    }

    /// What squares count for at least, as far as clusters are concerned that are nearer than what
    /// was found.
    void weigh(index_t i) {
      const double beyond = query_[at(i)].list.beyond();
      const index_t d = index_.d_;
      float* to = weight_of_.data() + i * d;
      index_.clusters_.weights(query_[at(i)].slot, beyond, index_.inverse_most_[0],
                               index_.smallest_inverse_, to);
      double* eight = weight_.data() + i / lanes::count * lanes::count * d + i % lanes::count;
      for (index_t j = 0; j < d; ++j) eight[j * lanes::count] = to[j];
      weighed_for_[at(i)] = beyond;
    }

    const kd_panels& index_;
    index_t count_ = 0;
    index_t scanned_ = 0;
    index_t passed_ = 0;
    index_t waits_ = 0;
    index_t offered_ = 0;
    index_t taken_ = 0;
    bool whole_leaves_ = false;
    std::array<query, static_cast<std::size_t>(most)> query_{};
    std::array<double, static_cast<std::size_t>(most)> inverse_{}, bound_{};
    std::array<typename bytes::queries, static_cast<std::size_t>(blocks_of_queries)> coded_{};
    std::array<index_t, static_cast<std::size_t>(blocks_of_queries)> region_{};  ///< of coded_
    std::array<pending, static_cast<std::size_t>(most)> waiting_{};
    std::vector<home> own_;
    std::vector<double> x_;
    std::vector<float> q_;
    std::vector<std::uint32_t> codes_;
    std::vector<double> block_;
    std::array<double, static_cast<std::size_t>(most)> weighed_for_{};
    std::vector<double> weight_;    ///< as x_
    std::vector<float> weight_of_;  ///< d a query
    std::vector<visit> open_;
    std::array<typename Clusters::screened, static_cast<std::size_t>(most)> screened_{};
  };

 private:
  [[nodiscard]] static constexpr std::size_t at(index_t i) noexcept {
    return static_cast<std::size_t>(i);
  }
  /// Leaves of the tree.
  [[nodiscard]] index_t blocks() const noexcept { return static_cast<index_t>(leaf_.size()); }
  [[nodiscard]] index_t last_of(index_t block) const noexcept {
    return std::min(panels(), (block + 1) * together);
  }
  [[nodiscard]] index_t boxes() const noexcept { return static_cast<index_t>(right_.size()); }
  [[nodiscard]] const double* low(index_t box) const noexcept { return box_.data() + 2 * box * d_; }

  void fill_bytes(thread_team& team, progress_meter& progress) {
    bytes_.rebuild(one_region_ ? std::vector<index_t>{0} : region_begins_, team, progress);
  }

  /// The tree over 8 panels at a time in preorder: a box, all of its left half, all of its right
  /// half.
  void lay_out(index_t count) {
    const index_t leaves = (count + together - 1) / together;
    centre_.resize(at(count * d_));
    margin_.resize(at(count));
    inverse_least_.resize(at(count));
    panel_inverse_.resize(at(count));
    panel_box_.resize(at(2 * count * d_));
    block_centre_.resize(at(leaves * d_));
    block_margin_.resize(at(leaves));
    block_inverse_.resize(leaves * together);
    block_box_.resize(2 * leaves * together * d_);
    coordinate_.resize(count * d_ * width);
    inverse_size_.resize(count * width);
    right_.resize(at(std::max<index_t>(2 * leaves - 1, 0)));
    inverse_most_.resize(right_.size());
    box_.resize(right_.size() * at(2 * d_));
    struct run {
      index_t box, first, count;
      bool in_region;
    };
    std::vector<run> open;
    region_begins_.clear();
    if (count > 0) open.push_back({0, 0, count, false});
    while (!open.empty()) {
      run r = open.back();
      open.pop_back();
      if (!r.in_region && r.count <= panels_a_region) {
        region_begins_.push_back(r.first);
        r.in_region = true;
      }
      if (r.count <= together) {
        right_[at(r.box)] = -1 - r.first / together;
        continue;
      }
      const index_t left = left_panels(r.count);
      right_[at(r.box)] = r.box + left / together * 2;
      open.push_back({right_[at(r.box)], r.first + left, r.count - left, r.in_region});
      open.push_back({r.box + 1, r.first, left, r.in_region});
    }
    leaf_.resize(at(leaves));
    for (index_t b = 0; b < boxes(); ++b) {
      if (right_[at(b)] < 0) leaf_[at(-1 - right_[at(b)])] = b;
    }
  }

  /// Float coordinates, sizes and box of a panel.
  void fill(index_t panel) {
    const index_t begin = panel * width;
    const index_t end = std::min(begin + width, clusters_.slots());
    bound_panel(panel, begin, end);
    const double* low = panel_box_.data() + 2 * panel * d_;
    double* centre = centre_.data() + panel * d_;
    const bool any = panel_inverse_[at(panel)] > 0.0;
    double radius = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      centre[j] = any ? 0.5 * (low[j] + low[d_ + j]) : 0.0;
      const double half = any ? std::max(low[d_ + j] - centre[j], centre[j] - low[j]) : 0.0;
      radius += half * half;
    }
    // A coordinate is off by 2^-24 of itself, in the query and in the panel; twice that, squared,
    // times 65 for the share of 1/64 in the slack; and what is left of squares that underflow.
    margin_[at(panel)] =
        static_cast<float>(2.0 * (radius * 0x1p-44 * 66.0 + clusters_.rounding()) + 1e-36);
    for (index_t s = begin; s < begin + width; ++s) place(panel, s, end, centre);
  }

  void bound_panel(index_t panel, index_t begin, index_t end) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    double* low = panel_box_.data() + 2 * panel * d_;
    double* high = low + d_;
    std::fill_n(low, d_, infinite);
    std::fill_n(high, d_, -infinite);
    double most = -infinite;
    double least = infinite;
    for (index_t s = begin; s < end; ++s) {
      if (!clusters_.occupied(s)) continue;
      const double* x = clusters_.mean(s);
      for (index_t j = 0; j < d_; ++j) {
        low[j] = std::min(low[j], x[j]);
        high[j] = std::max(high[j], x[j]);
      }
      most = std::max(most, 1.0 / clusters_.size(s));
      least = std::min(least, 1.0 / clusters_.size(s));
    }
    panel_inverse_[at(panel)] = most;
    inverse_least_[at(panel)] = least;
  }

  /// The box around a leaf's panels, and their own boxes in float32, counted from its centre.
  void put_together(index_t block) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const index_t box = leaf_[at(block)];
    const index_t first = block * together;
    double* low = box_.data() + 2 * box * d_;
    std::fill_n(low, d_, infinite);
    std::fill_n(low + d_, d_, -infinite);
    double most = -infinite;
    for (index_t p = first; p < last_of(block); ++p) {
      const double* own = panel_box_.data() + 2 * p * d_;
      for (index_t j = 0; j < d_; ++j) {
        low[j] = std::min(low[j], own[j]);
        low[d_ + j] = std::max(low[d_ + j], own[d_ + j]);
      }
      most = std::max(most, panel_inverse_[at(p)]);
    }
    inverse_most_[at(box)] = most;
    double* centre = block_centre_.data() + block * d_;
    double radius = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      centre[j] = most > 0.0 ? 0.5 * (low[j] + low[d_ + j]) : 0.0;
      const double half = most > 0.0 ? std::max(low[d_ + j] - centre[j], centre[j] - low[j]) : 0.0;
      radius += half * half;
    }
    // Ends and queries are off by 2^-24 of themselves, in all by 2^-22 of the radius and of the
    // distance; squared, times 1025 for the share of 1/1024 in the slack of the limit.
    block_margin_[at(block)] =
        static_cast<float>(2.0 * (radius * 0x1p-44 * 1100.0 + clusters_.rounding()) + 1e-36);
    for (index_t k = 0; k < together; ++k) place_box(block, k, centre);
  }

  void place_box(index_t block, index_t k, const double* centre) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    const index_t panel = block * together + k;
    float* to = block_box_.data() + 2 * block * together * d_ + k;
    const bool any = panel < panels() && panel_inverse_[at(panel)] > 0.0;
    const double* low = any ? panel_box_.data() + 2 * panel * d_ : nullptr;
    for (index_t j = 0; j < d_; ++j, to += 2 * together) {
      to[0] = any ? static_cast<float>(low[j] - centre[j]) : infinite;
      to[together] = any ? static_cast<float>(low[d_ + j] - centre[j]) : -infinite;
    }
    block_inverse_.data()[panel] = any ? static_cast<float>(panel_inverse_[at(panel)]) : -infinite;
  }

  /// Which of a leaf's panels a query is near enough to: squared distance from the box at most
  /// `most` times the sum of its 1/n and the largest there. Its coordinates are 8 floats apart.
  [[nodiscard]] std::uint32_t boxes_at_most(index_t block, const float* q, const float* weights,
                                            float most, float inverse) const noexcept {
    return boxes_at_most(block, q, weights, most, inverse,
                         std::make_index_sequence<chunks_of_floats>{});
  }

  template <std::size_t... V>
  [[nodiscard]] std::uint32_t boxes_at_most(index_t block, const float* q, const float* weights,
                                            float most, float inverse,
                                            std::index_sequence<V...>) const noexcept {
    const auto load = [](const float* from) {
      float_chunk c;
      std::memcpy(&c, from, sizeof(c));
      return c;
    };
    const auto out_of = [](const float_chunk& below, const float_chunk& above) {
      const float_chunk zero{};
      const float_chunk out = below > above ? below : above;
      return out > zero ? out : zero;
    };
    const float* box = block_box_.data() + 2 * block * together * d_;
    float_chunk sum[] = {(static_cast<void>(V), float_chunk{})...};
    for (index_t j = 0; j < d_; ++j, box += 2 * together) {
      const float_chunk here = q[j * lanes::count] - float_chunk{};
      const float_chunk out[] = {out_of(load(box + V * at(vector_width)) - here,
                                        here - load(box + together + V * at(vector_width)))...};
      if constexpr (Clusters::is_ward) {
        ((sum[V] = about_multiply_add(out[V], out[V], sum[V])), ...);
      } else {
        const float_chunk weight = weights[j] - float_chunk{};
        ((sum[V] = about_multiply_add(out[V], out[V] * weight, sum[V])), ...);
      }
    }
    static_cast<void>(weights);
    const float slack = most * static_cast<float>(box_slack_);
    const float_chunk margin = block_margin_[at(block)] - float_chunk{};
    const float* smallest = block_inverse_.data() + block * together;
    const float_chunk limit[] = {about_multiply_add(load(smallest + V * at(vector_width)) + inverse,
                                                    slack - float_chunk{}, margin)...};
    return eight_at_most(sum, limit);
  }

  void place(index_t panel, index_t slot, index_t end, const double* centre) {
    const index_t lane = slot % width;
    float* to = coordinate_.data() + panel * d_ * width + lane;
    if (slot >= end || !clusters_.occupied(slot)) {
      for (index_t j = 0; j < d_; ++j) to[j * width] = 0.0F;
      inverse_size_.data()[slot] = -std::numeric_limits<float>::infinity();
      return;
    }
    const double* x = clusters_.mean(slot);
    for (index_t j = 0; j < d_; ++j) to[j * width] = static_cast<float>(x[j] - centre[j]);
    inverse_size_.data()[slot] = static_cast<float>(1.0 / clusters_.size(slot));
  }

  /// A box around its two halves.
  void enclose(index_t box) {
    const index_t right = right_[at(box)];
    if (right < 0) return;
    double* to = box_.data() + 2 * box * d_;
    const double* a = low(box + 1);
    const double* b = low(right);
    for (index_t j = 0; j < d_; ++j) {
      to[j] = std::min(a[j], b[j]);
      to[d_ + j] = std::max(a[d_ + j], b[d_ + j]);
    }
    inverse_most_[at(box)] = std::max(inverse_most_[at(box + 1)], inverse_most_[at(right)]);
  }

  template <std::size_t... V>
  [[nodiscard]] bool within(const float* y, const float* inverse, const float* q,
                            const float* weights, float a, float b, float* squares, pass_bits& pass,
                            std::index_sequence<V...>) const noexcept {
    const auto load = [](const float* from) {
      float_chunk c;
      std::memcpy(&c, from, sizeof(c));
      return c;
    };
    float_chunk sum[vectors] = {(static_cast<void>(V), float_chunk{})...};
    for (index_t j = 0; j < d_; ++j, y += width) {
      const float_chunk here = q[j] - float_chunk{};
      const float_chunk apart[vectors] = {(load(y + V * at(vector_width)) - here)...};
      if constexpr (Clusters::is_ward) {
        ((sum[V] = about_multiply_add(apart[V], apart[V], sum[V])), ...);
      } else {
        const float_chunk weight = weights[j] - float_chunk{};
        ((sum[V] = about_multiply_add(apart[V], apart[V] * weight, sum[V])), ...);
      }
    }
    static_cast<void>(weights);
    const float_chunk slope = a - float_chunk{};
    const float_chunk level = b - float_chunk{};
    float_bits found{};
    ((found |= where_at_most(
          sum[V], about_multiply_add(load(inverse + V * at(vector_width)), slope, level), 1U << V)),
     ...);
    if (united(found) == 0) return false;
    std::memcpy(pass.data(), &found, sizeof(found));
    std::memcpy(squares, sum, sizeof(sum));
    return true;
  }

  /// Whether clusters of a panel may be nearer than `a` allows, r² <= a / n + b in float32; which
  /// ones, and all r².
  [[nodiscard]] bool within(index_t panel, const float* q, const float* weights, float a, float b,
                            float* squares, pass_bits& pass) const noexcept {
    return within(coordinate_.data() + panel * d_ * width, inverse_size_.data() + panel * width, q,
                  weights, a, b, squares, pass, std::make_index_sequence<vectors>{});
  }

  const Clusters& clusters_;
  index_t d_;
  double box_slack_, slack_;
  std::vector<double> centre_;         ///< d a panel
  std::vector<float> margin_;          ///< squared distances in a panel are off by this at most
  line_of_floats coordinate_;          ///< d rows of 48 a panel
  line_of_floats inverse_size_;        ///< 48 a panel; -inf where there is no cluster
  std::vector<double> panel_box_;      ///< d lower, d upper ends a panel
  std::vector<double> panel_inverse_;  ///< largest 1/n of a panel
  std::vector<double> block_centre_;   ///< d a leaf
  std::vector<float> block_margin_;    ///< as margin_, of distances from a leaf's boxes
  line_of_floats block_box_;           ///< a leaf: for each column 8 lower and 8 upper ends
  line_of_floats block_inverse_;       ///< 8 a leaf; -inf where there is no cluster
  std::vector<double> box_;            ///< d lower, d upper ends
  std::vector<double> inverse_most_;   ///< largest 1/n of a box
  std::vector<double> inverse_least_;  ///< smallest 1/n of a panel
  std::vector<index_t> right_;         ///< the right half of a box; -1 - leaf of a leaf
  std::vector<index_t> leaf_;          ///< the box of a leaf
  std::vector<index_t> path_;
  double smallest_inverse_ = 0.0;
  std::vector<index_t> region_begins_;
  bool with_bytes_ = false, one_region_ = false;
  bytes bytes_;
};

}  // namespace bhclust::detail
