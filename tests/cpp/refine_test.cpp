// Local moves against the same moves made plainly: sweeps over all nodes, and every place tried.
#include "enumeration.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/detail/interchange.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace testkit;
using bhclust::any_family;

namespace {

/// Every node of the tree looked at in every sweep.
template <class Model>
void sweep_all(bhclust::detail::mutable_tree<Model>& t) {
  bhclust::detail::interchange moves(t);
  for (bool changed = true; changed;) {
    changed = false;
    for (const index_t k : t.postorder()) {
      if (t.is_leaf(k)) continue;
      t.update_log_t(k);
      while (moves.improve(k) >= 0) changed = true;
    }
  }
}

[[nodiscard]] std::vector<unsigned char> below(const tree& t, index_t top) {
  std::vector<unsigned char> found(static_cast<std::size_t>(t.nodes()), 0);
  for (index_t k = top; k >= 0; --k) {
    const index_t up = t.parent(k);
    found[at(k)] = k == top || (up >= 0 && found[at(up)] != 0) ? 1 : 0;
  }
  return found;
}

[[nodiscard]] index_t root_of(const tree& t, index_t k) {
  while (t.parent(k) >= 0) k = t.parent(k);
  return k;
}

/// The tree with s as the sibling of `place`, which is not at or below s nor right above it.
template <class Model>
[[nodiscard]] tree rehung(bhclust::detail::mutable_tree<Model> t, index_t s, index_t place) {
  const index_t up = t.parent(s);
  t.replace(up, t.sibling(s));
  t.replace(place, up);
  t.set_children(up, place, s);
  return t.finish();
}

}  // namespace

TEST_CASE("refine: interchanges end where sweeps over all nodes end") {
  for_each_posterior(
      1, 24,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto model = bhclust::bind(family, X.view());
        bhclust::detail::mutable_tree plain(t, X.view(), model, alpha);
        sweep_all(plain);
        bhclust::detail::mutable_tree fast(t, X.view(), model, alpha);
        bhclust::detail::progress_meter silent({}, 1);
        static_cast<void>(bhclust::detail::interchange(fast).run(silent));
        CHECK(fast.finish().children() == plain.finish().children());
      });
}

TEST_CASE("refine: tried everywhere, no subtree does better at another place") {
  for_each_posterior(
      1, 7,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        bhclust::refine_options options;
        options.alpha = alpha;
        options.everywhere = true;
        options.most_regrown = 0;
        const tree best = bhclust::refine(t, X.view(), family, options);
        const bhclust::detail::mutable_tree hung(best, X.view(), bhclust::bind(family, X.view()),
                                                 alpha);
        const double reached =
            bhclust::posterior(best, X.view(), family, {alpha, {}}).log_evidence_bound;
        for (index_t s = 0; s < best.nodes(); ++s) {
          const index_t up = best.parent(s);
          if (up < 0) continue;
          const auto own = below(best, s);
          for (index_t place = 0; place < best.nodes(); ++place) {
            if (place == up || own[at(place)] != 0 || root_of(best, place) != root_of(best, s)) {
              continue;
            }
            const tree other = rehung(hung, s, place);
            CHECK(bhclust::posterior(other, X.view(), family, {alpha, {}}).log_evidence_bound <=
                  reached + 1e-6);
          }
        }
      });
}

TEST_CASE("refine: the same tree for any number of threads") {
  for_each_example(1, 600, 3, [](random_source& random, const any_family& family, const table& X) {
    const tree t = random_tree(random, 600);
    bhclust::refine_options options;
    options.max_regrafts = 3;
    options.everywhere = true;
    options.n_threads = 1;
    const tree one = bhclust::refine(t, X.view(), family, options);
    options.n_threads = 3;
    const tree three = bhclust::refine(t, X.view(), family, options);
    CHECK(three.children() == one.children());
  });
}
