// Calls a fuzz body with bytes that are the same everywhere: seeds, their mutations, and noise. Of
// a program's arguments, each is a file whose bytes are the only input: to see a fault again.
#include "fuzz.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

namespace {

using bytes = std::vector<std::uint8_t>;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> all = {
      "((0,1),2);",
      "(0:1e-3,(1:2,2:inf)0.5:1)[a comment];",
      "('a b',\"c''d\",e)f;",
      "(((((((((0))))))))),1;",
      std::string("\x04\x08\x09\x0c\x0a\x0d\x0b", 7),
      std::string("\x08\x09\x0a\x09\x0b\x0a\x0b\x0b", 8),
  };
  return all;
}

/// One change: a byte set, left out or doubled, or a piece repeated.
void mutate(bytes& text, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr char likely[] = "(),;:'\"[] 0123e-";
  const std::size_t at = below(text.size() + 1);
  const auto place = text.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(5)) {
    case 0:
      text.insert(place, static_cast<std::uint8_t>(random()));
      break;
    case 1:
      text.insert(place, static_cast<std::uint8_t>(likely[below(sizeof likely - 1)]));
      break;
    case 2:
      if (at < text.size()) text.erase(place);
      break;
    case 3:
      if (at < text.size()) text[at] = static_cast<std::uint8_t>(random());
      break;
    default:
      const bytes piece(text.begin(), place);
      if (text.size() < 400) text.insert(text.end(), piece.begin(), piece.end());
  }
}

bytes noise(std::mt19937_64& random) {
  bytes made(static_cast<std::size_t>(random() % 200));
  // half of them small, as sizes and counts are
  const std::uint64_t range = (random() & 1U) != 0 ? 256 : 24;
  for (std::uint8_t& one : made) one = static_cast<std::uint8_t>(random() % range);
  return made;
}

void run(const bytes& text) { static_cast<void>(LLVMFuzzerTestOneInput(text.data(), text.size())); }

}  // namespace

int main(int arguments, char** argument) {
  for (int i = 1; i < arguments; ++i) {
    std::ifstream file(argument[i], std::ios::binary);
    run({std::istreambuf_iterator<char>(file), {}});
  }
  if (arguments > 1) return 0;
  std::mt19937_64 random(20261128);
  constexpr int rounds = 20000;
  for (const auto& seed : seeds()) run({seed.begin(), seed.end()});
  for (int round = 0; round < rounds; ++round) {
    const auto& seed = seeds()[static_cast<std::size_t>(random() % seeds().size())];
    bytes text(seed.begin(), seed.end());
    for (auto changes = 1 + random() % 8; changes > 0; --changes) mutate(text, random);
    run(text);
    run(noise(random));
  }
  std::cout << 2 * rounds << " inputs\n";
}
