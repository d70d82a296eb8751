/// @file
/// Sorting long columns of values, which lets a run be stopped meanwhile.
#pragma once

#include <bhclust/progress.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bhclust::detail {

/// Sorts by an order of one's own: blocks first, which are then merged. O(n log n).
template <class Before>
void sort_values(std::vector<double>& values, const Before& before) {
  constexpr std::size_t block = 65536;
  const auto at = [&values](std::size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
  };
  for (std::size_t first = 0; first < values.size(); first += block) {
    std::sort(at(first), at(first + block), before);
    if (values.size() > block) pulse();
  }
  for (std::size_t size = block; size < values.size(); size *= 2) {
    for (std::size_t first = 0; first < values.size(); first += 2 * size) {
      std::inplace_merge(at(first), at(first + size), at(first + 2 * size), before);
      pulse();
    }
  }
}

/// Doubles as integers of the same order, -0 before 0: the bits of a negative one turned over, of
/// another one only the sign.
class ordered_bits {
 public:
  [[nodiscard]] static std::uint64_t of(double x) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits ^ ((bits & sign) != 0 ? ~std::uint64_t{0} : sign);
  }
  [[nodiscard]] static double back(std::uint64_t bits) noexcept {
    bits ^= (bits & sign) != 0 ? sign : ~std::uint64_t{0};
    double x = 0.0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }

 private:
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
};

/// Sorts from the lowest digit up, each pass keeping the order of the one before; digits that all
/// share are passed over. O(n), some times as fast as by comparing; memory: the values twice more.
class digit_sort {
 public:
  void operator()(std::vector<double>& values) {
    take(values);
    for (std::size_t d = 0; d < digits; ++d) {
      if (count_[d][digit(keys_.front(), d)] == keys_.size()) continue;
      pass(d);
      pulse();
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) values[i] = ordered_bits::back(keys_[i]);
  }

 private:
  static constexpr std::size_t digits = 6;
  static constexpr unsigned bits = 11;

  [[nodiscard]] static std::size_t digit(std::uint64_t key, std::size_t d) noexcept {
    return key >> (bits * d) & ((1U << bits) - 1);
  }

  void take(const std::vector<double>& values) {
    keys_.resize(values.size());
    sorted_.resize(values.size());
    for (auto& one : count_) one.fill(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      keys_[i] = ordered_bits::of(values[i]);
      for (std::size_t d = 0; d < digits; ++d) ++count_[d][digit(keys_[i], d)];
    }
    pulse();
  }

  void pass(std::size_t d) {
    std::size_t place = 0;
    for (auto& count : count_[d]) {
      const std::size_t here = count;
      count = place;
      place += here;
    }
    for (const std::uint64_t key : keys_) sorted_[count_[d][digit(key, d)]++] = key;
    keys_.swap(sorted_);
  }

  std::vector<std::uint64_t> keys_, sorted_;
  std::array<std::array<std::size_t, std::size_t{1} << bits>, digits> count_{};
};

/// Sorts values that are numbers, ascending.
inline void sort_values(std::vector<double>& values) {
  constexpr std::size_t few = 4096;
  if (values.size() <= few) {
    std::sort(values.begin(), values.end());
  } else {
    digit_sort{}(values);
  }
}

}  // namespace bhclust::detail
