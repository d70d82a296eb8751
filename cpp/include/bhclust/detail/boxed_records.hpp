/// @file
/// Records of clusters that are points with weights, kept so that far ones need not be looked at.
#pragma once

#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Records numbered by slots but stored in panels of neighbours: when slots are dropped all are
/// laid out anew in k-d order; what is appended meanwhile follows in order of age, which is local
/// too where merges are. Each panel has a box about its points, its least weight, its largest
/// rounding and its first slot. Few records stay in the order of slots, without boxes: there panels
/// spare less than they cost.
///
/// `fields` doubles a record, of which those from `point` on are coordinates, field 0 is the weight
/// and field 1 the rounding.
class boxed_records {
 public:
  static constexpr index_t panel = 32;
  static constexpr index_t few = 8192;

  /// `sketched` records have their coordinates in single precision too.
  boxed_records(index_t fields, index_t point, bool sketched)
      : sketched_(sketched),
        point_(point),
        records_(fields),
        boxes_(first + 2 * (fields - point)),
        sketches_(fields - point) {}

  [[nodiscard]] index_t fields() const noexcept { return records_.fields(); }
  [[nodiscard]] index_t size() const noexcept { return records_.size(); }
  [[nodiscard]] const lane_table& records() const noexcept { return records_; }
  /// Coordinates in single precision, by place; good while all are below 1e9.
  [[nodiscard]] const lane_table_of<float>& sketches() const noexcept { return sketches_; }
  [[nodiscard]] bool sketched() const noexcept { return sketched_; }
  [[nodiscard]] index_t panels() const noexcept { return boxes_.size(); }
  /// Box records: least weight, largest rounding, then low and high of each coordinate.
  [[nodiscard]] const lane_table& boxes() const noexcept { return boxes_; }
  [[nodiscard]] index_t first_slot(index_t p) const noexcept { return first_slot_[at(p)]; }
  [[nodiscard]] index_t slot(index_t place) const noexcept { return slot_[at(place)]; }
  [[nodiscard]] index_t place(index_t slot) const noexcept { return place_[at(slot)]; }

  /// Whether places are slots.
  [[nodiscard]] bool in_order() const noexcept { return in_order_; }

  /// The record of the next slot.
  void append(const double* record) {
    place_.push_back(size());
    store(record, static_cast<index_t>(slot_.size()));
  }

  /// Keeps the named slots (ascending), in their order, and lays all out anew.
  void keep(const std::vector<index_t>& kept) {
    std::vector<index_t> order(kept.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<index_t>(i);
    in_order_ = static_cast<index_t>(kept.size()) < few;
    if (!in_order_) split(points_of(kept), order);
    lane_table old(fields());
    std::swap(old, records_);
    const std::vector<index_t> old_place = std::move(place_);
    records_.reserve(static_cast<index_t>(kept.size()));
    boxes_ = lane_table(boxes_.fields());
    sketches_ = lane_table_of<float>(sketches_.fields());
    slot_.clear();
    first_slot_.clear();
    place_.assign(kept.size(), 0);
    std::vector<double> record(at(fields()));
    pacer pace;
    for (const index_t i : order) {
      pace(8 * fields());
      old.copy(old_place[at(kept[at(i)])], record.data());
      place_[at(i)] = size();
      store(record.data(), i);
    }
  }

 private:
  static constexpr index_t first = 2;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t dimensions() const noexcept { return fields() - point_; }

  void store(const double* record, index_t slot) {
    if (!in_order_) widen_box(record, slot);
    records_.append(record);
    slot_.push_back(slot);
    if (sketched_) sketch(record + point_);
  }

  /// That of the panel which the next place is in.
  void widen_box(const double* record, index_t slot) {
    const bool opens = size() % panel == 0;
    std::vector<double> box(at(boxes_.fields()));
    if (opens) {
      box[0] = record[0];
      first_slot_.push_back(slot);
    } else {
      boxes_.copy(panels() - 1, box.data());
      first_slot_.back() = std::min(first_slot_.back(), slot);
    }
    box[0] = std::min(box[0], record[0]);
    box[1] = std::max(box[1], record[1]);
    for (index_t j = 0; j < dimensions(); ++j) {
      double& low = box[at(first + 2 * j)];
      double& high = box[at(first + 2 * j + 1)];
      const double x = record[point_ + j];
      low = opens ? x : std::min(low, x);
      high = opens ? x : std::max(high, x);
    }
    if (opens) {
      boxes_.append(box.data());
    } else {
      boxes_.put(panels() - 1, box.data());
    }
  }

  void sketch(const double* point) {
    constexpr double largest = 1e9;
    std::vector<float> rounded(at(dimensions()));
    for (index_t j = 0; j < dimensions(); ++j) {
      sketched_ = sketched_ && std::fabs(point[j]) < largest;
      rounded[at(j)] = sketched_ ? static_cast<float>(point[j]) : 0.0F;
    }
    sketches_.append(rounded.data());
  }

  [[nodiscard]] std::vector<double> points_of(const std::vector<index_t>& kept) const {
    std::vector<double> points, record(at(fields()));
    points.reserve(kept.size() * at(dimensions()));
    for (const index_t slot : kept) {
      records_.copy(place(slot), record.data());
      points.insert(points.end(), record.begin() + point_, record.end());
    }
    return points;
  }

  /// Halves ever smaller ranges across the coordinate in which they are widest; panels are never
  /// cut. Equal points stay in order of slots.
  void split(const std::vector<double>& points, std::vector<index_t>& order) const {
    std::vector<std::pair<index_t, index_t>> ranges{{0, static_cast<index_t>(order.size())}};
    pacer pace;
    while (!ranges.empty()) {
      const auto [begin, end] = ranges.back();
      ranges.pop_back();
      if (end - begin <= panel) continue;
      pace((end - begin) * dimensions());
      const index_t j = widest(points, order, begin, end);
      const index_t middle = begin + ((end - begin) / 2 + panel - 1) / panel * panel;
      const auto x = [&](index_t i) { return points[at(i * dimensions() + j)]; };
      std::nth_element(
          order.begin() + begin, order.begin() + middle, order.begin() + end,
          [&](index_t a, index_t b) { return x(a) < x(b) || (x(a) == x(b) && a < b); });
      ranges.emplace_back(middle, end);
      ranges.emplace_back(begin, middle);
    }
  }

  [[nodiscard]] index_t widest(const std::vector<double>& points, const std::vector<index_t>& order,
                               index_t begin, index_t end) const {
    const double* origin = points.data() + order[at(begin)] * dimensions();
    std::vector<double> low(origin, origin + dimensions()), high(low);
    for (index_t i = begin; i < end; ++i) {
      const double* x = points.data() + order[at(i)] * dimensions();
      for (index_t j = 0; j < dimensions(); ++j) {
        low[at(j)] = std::min(low[at(j)], x[j]);
        high[at(j)] = std::max(high[at(j)], x[j]);
      }
    }
    index_t best = 0;
    for (index_t j = 1; j < dimensions(); ++j) {
      if (high[at(j)] - low[at(j)] > high[at(best)] - low[at(best)]) best = j;
    }
    return best;
  }

  bool in_order_ = true;
  bool sketched_;
  index_t point_;
  lane_table records_;  ///< by place
  lane_table boxes_;
  lane_table_of<float> sketches_;
  std::vector<index_t> first_slot_;    ///< of each panel
  std::vector<index_t> slot_, place_;  ///< of each other
};

}  // namespace bhclust::detail
