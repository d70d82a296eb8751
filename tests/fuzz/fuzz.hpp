/// @file
/// What the fuzz bodies share. A body is `LLVMFuzzerTestOneInput`: it takes any bytes, lets the
/// library refuse them, and aborts where something accepted breaks a promise. `run.cpp` calls it
/// with made-up bytes in the tests; with BHCLUST_FUZZ and Clang libFuzzer looks for more.
#pragma once

#include <bhclust/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

using bhclust::index_t;

/// Stops the program, as fuzzers expect of a fault found.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Reads numbers from bytes; zeros when they end.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  [[nodiscard]] bool empty() const noexcept { return next_ == end_; }
  [[nodiscard]] std::uint8_t byte() noexcept { return empty() ? std::uint8_t{0} : *next_++; }
  /// Mostly small and around 0; any 64 bits now and then.
  [[nodiscard]] index_t integer() noexcept {
    const std::uint8_t first = byte();
    return first == 0xff ? raw<index_t>() : static_cast<index_t>(first) - 8;
  }
  /// Mostly whole and small; any double now and then.
  [[nodiscard]] double real() noexcept {
    const std::uint8_t first = byte();
    return first >= 0xf8 ? raw<double>() : static_cast<double>(first) - 8.0;
  }
  [[nodiscard]] std::vector<index_t> integers(index_t count) {
    std::vector<index_t> found;
    for (index_t i = 0; i < count; ++i) found.push_back(integer());
    return found;
  }
  [[nodiscard]] std::vector<double> reals(index_t count) {
    std::vector<double> found;
    for (index_t i = 0; i < count; ++i) found.push_back(real());
    return found;
  }

 private:
  template <class T>
  [[nodiscard]] T raw() noexcept {
    std::uint8_t bytes[sizeof(T)];
    for (std::uint8_t& one : bytes) one = byte();
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

/// Runs `work` and lets it refuse its input, with a message.
template <class Work>
void may_refuse(const Work& work) {
  try {
    work();
  } catch (const std::invalid_argument& refusal) {
    promise(std::strlen(refusal.what()) > 0, "a refusal says why");
  }
}

/// What every tree promises.
inline void check_tree(const bhclust::tree& t) {
  std::vector<int> parents(static_cast<std::size_t>(t.nodes()), 0);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    for (const index_t child : {t.left(k), t.right(k)}) {
      promise(child >= 0 && child < k, "children come before their parents");
      promise(t.parent(child) == k, "a child knows its parent");
      promise(++parents[static_cast<std::size_t>(child)] == 1, "a node has one parent at most");
    }
    promise(t.size(k) == t.size(t.left(k)) + t.size(t.right(k)), "sizes add up");
  }
  index_t rows = 0;
  for (const index_t root : t.roots()) rows += t.size(root);
  promise(rows == t.leaves(), "the roots have all leaves");
}

[[nodiscard]] inline bool same_tree(const bhclust::tree& a, const bhclust::tree& b) {
  return a.leaves() == b.leaves() && a.children() == b.children();
}

}  // namespace fuzz
