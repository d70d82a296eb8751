// Any numbers as a tree's children or a linkage matrix: refused with a reason, or a tree that keeps
// its promises and survives the way there and back.
#include "fuzz.hpp"
#include <bhclust/analysis/linkage.hpp>

namespace {

using bhclust::index_t;
using bhclust::tree;

void through_linkage(const tree& t) {
  if (t.roots().size() != 1) return;
  const auto linkage = bhclust::linkage_of(t, bhclust::linkage_heights(t));
  const tree again = bhclust::tree_from_linkage(bhclust::span<const double>(linkage),
                                                static_cast<index_t>(linkage.size() / 4));
  fuzz::check_tree(again);
  fuzz::promise(again.leaves() == t.leaves(), "a linkage matrix has all leaves");
}

void from_children(fuzz::input in) {
  const index_t leaves = in.integer();
  // what a machine may well have memory for is granted, and is not looked for here
  if (leaves > 100000 && leaves < index_t{1} << 48) return;
  std::vector<index_t> children;
  while (!in.empty()) children.push_back(in.integer());
  fuzz::may_refuse([&] {
    const tree t = bhclust::tree_from_children(leaves, bhclust::span<const index_t>(children));
    fuzz::check_tree(t);
    through_linkage(t);
  });
}

void from_linkage(fuzz::input in) {
  std::vector<double> linkage;
  while (!in.empty()) linkage.push_back(in.real());
  fuzz::may_refuse([&] {
    const tree t = bhclust::tree_from_linkage(bhclust::span<const double>(linkage),
                                              static_cast<index_t>(linkage.size() / 4));
    fuzz::check_tree(t);
    through_linkage(t);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  from_children({data, size});
  from_linkage({data, size});
  return 0;
}
