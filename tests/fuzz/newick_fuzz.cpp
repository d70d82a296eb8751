// Any text as Newick: refused with a reason, or a tree that can be written and read again.
#include "fuzz.hpp"
#include <bhclust/analysis/newick.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace {

using bhclust::index_t;
using bhclust::tree;

/// The leaves below each node, which say what a tree is whatever its nodes are numbered.
std::set<std::vector<index_t>> clusters_of(const tree& t) {
  std::vector<std::vector<index_t>> below(static_cast<std::size_t>(t.nodes()));
  for (index_t k = 0; k < t.nodes(); ++k) {
    auto& own = below[static_cast<std::size_t>(k)];
    if (t.is_leaf(k)) {
      own = {k};
      continue;
    }
    const auto& left = below[static_cast<std::size_t>(t.left(k))];
    const auto& right = below[static_cast<std::size_t>(t.right(k))];
    std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(own));
  }
  return {below.begin(), below.end()};
}

void read_back(const tree& t, const std::vector<std::string>& names) {
  const bhclust::span<const std::string> given(names);
  const auto again = bhclust::from_newick(bhclust::to_newick(t, given), given);
  fuzz::check_tree(again);
  fuzz::promise(clusters_of(again) == clusters_of(t), "what is written is read back");
}

/// Names with whatever characters the text has.
std::vector<std::string> odd_names(index_t leaves, std::string_view text) {
  std::vector<std::string> names;
  for (index_t i = 0; i < leaves; ++i) {
    const auto first = std::min(text.size(), static_cast<std::size_t>(i));
    names.push_back(std::to_string(i) + std::string(text.substr(first, 3)));
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (const bool resolve : {false, true}) {
    fuzz::may_refuse([&] {
      const tree t = bhclust::from_newick(text, {}, resolve);
      fuzz::check_tree(t);
      read_back(t, {});
      read_back(t, odd_names(t.leaves(), text));
    });
  }
  return 0;
}
