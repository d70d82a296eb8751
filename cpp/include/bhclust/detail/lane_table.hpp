/// @file
/// Records laid out so that eight neighbours are read in one go.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <cstddef>
#include <vector>

namespace bhclust::detail {

/// Records of `fields` numbers in blocks of eight: field by field, eight neighbours side by side.
/// The last block is filled up with zeros.
template <class Real>
class lane_table_of {
 public:
  explicit lane_table_of(index_t fields) : fields_(fields) {}

  [[nodiscard]] index_t size() const noexcept { return size_; }
  [[nodiscard]] index_t fields() const noexcept { return fields_; }
  /// Field f of the block's lanes begins at [8 f].
  [[nodiscard]] const Real* block(index_t b) const noexcept {
    return values_.data() + b * lanes::count * fields_;
  }

  /// So many records of zeros, to be written block by block.
  void assign_blocks(index_t n) {
    size_ = n;
    values_.assign(static_cast<std::size_t>((n + 7) / 8 * 8 * fields_), Real{});
  }
  [[nodiscard]] Real* block(index_t b) noexcept {
    return values_.data() + b * lanes::count * fields_;
  }

  void reserve(index_t n) { values_.reserve(static_cast<std::size_t>((n + 7) / 8 * 8 * fields_)); }

  void append(const Real* record) {
    if (size_ % lanes::count == 0) {
      values_.resize(values_.size() + static_cast<std::size_t>(lanes::count * fields_), Real{});
    }
    put(size_++, record);
  }

  /// Appends record i of another table with the same fields.
  void append_from(const lane_table_of& other, index_t i) {
    if (size_ % lanes::count == 0) {
      values_.resize(values_.size() + static_cast<std::size_t>(lanes::count * fields_), Real{});
    }
    other.copy_lane(i, place(size_++));
  }

  void copy(index_t i, Real* record) const noexcept {
    const Real* from = block(i / lanes::count) + i % lanes::count;
    for (index_t f = 0; f < fields_; ++f) record[f] = from[f * lanes::count];
  }

  void put(index_t i, const Real* record) noexcept {
    Real* to = place(i);
    for (index_t f = 0; f < fields_; ++f) to[f * lanes::count] = record[f];
  }

  /// The record as a lane of a block that begins at `lane`.
  void copy_lane(index_t i, Real* lane) const noexcept {
    const Real* from = block(i / lanes::count) + i % lanes::count;
    for (index_t f = 0; f < fields_; ++f) lane[f * lanes::count] = from[f * lanes::count];
  }

  /// Keeps the named records (ascending), in their order.
  void keep(const index_t* kept, index_t n) {
    for (index_t to = 0; to < n; ++to) {
      if (kept[to] == to) continue;
      const Real* source = block(kept[to] / lanes::count) + kept[to] % lanes::count;
      Real* target = place(to);
      for (index_t f = 0; f < fields_; ++f) target[f * lanes::count] = source[f * lanes::count];
    }
    size_ = n;
    const index_t blocks = (n + lanes::count - 1) / lanes::count;
    values_.resize(static_cast<std::size_t>(blocks * lanes::count * fields_));
  }

 private:
  [[nodiscard]] Real* place(index_t i) noexcept {
    return values_.data() + i / lanes::count * lanes::count * fields_ + i % lanes::count;
  }

  index_t fields_;
  index_t size_ = 0;
  std::vector<Real> values_;
};

using lane_table = lane_table_of<double>;

}  // namespace bhclust::detail
