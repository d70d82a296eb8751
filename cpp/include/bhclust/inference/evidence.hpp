/// @file
/// Lower bounds of the log evidence of the Dirichlet process mixture that reach beyond one tree,
/// and the evidence itself for a few rows (Xu, Heller & Ghahramani 2009, and two tighter bounds).
///
/// Below a node k with children l = (ll, lr) and r = (rl, rr) a *relocation* makes one crossing
/// cluster of a grandchild and the other child, and leaves the grandchild's sibling over: lr ∪ r
/// leaves ll, ll ∪ r leaves lr, rr ∪ l leaves rl, rl ∪ l leaves rr. Each partition reached so is in
/// no tree-consistent one and is counted once, since its crossing cluster tells k and the move.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// A relocation by what it leaves over.
enum class relocation { left_left, left_right, right_left, right_right };

/// Which relocations count: Xu et al.'s two (of the larger child, of equals the left one; of the
/// other where that is a leaf), or all four.
enum class relocation_set { two, four };

/// The relocations of all nodes of a tree. -inf where a node has no such relocation.
struct relocations {
  /// log p̃_H of the crossing cluster, one a relocation and merge: [merge][relocation].
  std::vector<std::array<double, 4>> log_crossing;
  /// log weight of all partitions that the relocation adds to the tree's, given the rows: relative
  /// to log p̃_T of the root, [merge][relocation]. Large: the split above is uncertain.
  std::vector<std::array<double, 4>> log_gain;
  /// log of the sum of the gains of each merge, [merge] (X figure 2b).
  std::vector<double> log_gain_of_merge;
  /// The bound of X theorem 1, nats.
  double log_evidence_bound = 0.0;
};

namespace detail {

inline constexpr std::array<relocation, 4> all_relocations = {
    relocation::left_left, relocation::left_right, relocation::right_left, relocation::right_right};

[[nodiscard]] constexpr std::size_t number_of(relocation move) noexcept {
  return static_cast<std::size_t>(move);
}

[[nodiscard]] constexpr bool opens_left(relocation move) noexcept {
  return move == relocation::left_left || move == relocation::left_right;
}

/// The nodes of a relocation: what crosses, what it joins, what is left over.
struct relocated {
  index_t moved, joined, left_over;
};

[[nodiscard]] inline bool possible(const tree& t, index_t k, relocation move) {
  return !t.is_leaf(opens_left(move) ? t.left(k) : t.right(k));
}

[[nodiscard]] inline relocated nodes_of(const tree& t, index_t k, relocation move) {
  const index_t opened = opens_left(move) ? t.left(k) : t.right(k);
  const index_t joined = opens_left(move) ? t.right(k) : t.left(k);
  const bool leaves_left = move == relocation::left_left || move == relocation::right_left;
  return {leaves_left ? t.right(opened) : t.left(opened), joined,
          leaves_left ? t.left(opened) : t.right(opened)};
}

[[nodiscard]] inline bool counts(const tree& t, index_t k, relocation move, relocation_set set) {
  if (!possible(t, k, move)) return false;
  if (set == relocation_set::four) return true;
  const bool left_is_larger = t.size(t.left(k)) >= t.size(t.right(k));
  return opens_left(move) == left_is_larger;
}

/// log p̃_H of the crossing clusters of a merge; -inf where there is none.
using crossing_columns = std::vector<std::array<double, 4>>;

/// Writes the crossing clusters of every merge that it is shown.
template <class Model>
class crossing_visitor {
 public:
  crossing_visitor(const tree& t, const Model& model, const tree_posterior& p, relocation_set set,
                   crossing_columns& out)
      : tree_(&t),
        model_(&model),
        posterior_(&p),
        set_(set),
        out_(&out),
        batch_(model),
        crossing_(static_cast<std::size_t>(model.width())) {}

  void operator()(const node_statistics& k, const node_statistics& l, const node_statistics& r) {
    if (l.node < 0) return;
    for (const relocation move : all_relocations) {
      if (counts(*tree_, k.node, move, set_)) add(k.node, move, l, r);
    }
  }
  void finish() { batch_.finish(give()); }

 private:
  void add(index_t node, relocation move, const node_statistics& l, const node_statistics& r) {
    const auto& opened = opens_left(move) ? l : r;
    const auto& joined = opens_left(move) ? r : l;
    const bool leaves_left = move == relocation::left_left || move == relocation::right_left;
    std::copy_n(leaves_left ? opened.right : opened.left, crossing_.size(), crossing_.data());
    model_->merge(crossing_.data(), joined.own);
    const auto merge = node - tree_->leaves();
    batch_.add(4 * merge + static_cast<index_t>(number_of(move)), crossing_.data(), give());
  }

  [[nodiscard]] auto give() const {
    return [this](index_t id, double log_marginal) {
      const relocation move = all_relocations[static_cast<std::size_t>(id % 4)];
      const auto nodes = nodes_of(*tree_, tree_->leaves() + id / 4, move);
      (*out_)[static_cast<std::size_t>(id / 4)][number_of(move)] = log_one_cluster(
          posterior_->alpha,
          posterior_->n_rows(*tree_, nodes.moved) + posterior_->n_rows(*tree_, nodes.joined),
          log_marginal);
    };
  }

  const tree* tree_;
  const Model* model_;
  const tree_posterior* posterior_;
  relocation_set set_;
  crossing_columns* out_;
  marginal_batch<Model> batch_;
  std::vector<double> crossing_;
};

/// Of all merges. Four marginal likelihoods a merge at most.
template <class Model>
[[nodiscard]] crossing_columns crossing_clusters(const tree& t, const table_view& X,
                                                 const Model& model, const tree_posterior& p,
                                                 relocation_set set, thread_team& team,
                                                 progress_meter& progress) {
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  crossing_columns found(static_cast<std::size_t>(t.merges()),
                         {nothing, nothing, nothing, nothing});
  static_cast<void>(walk_statistics<2>(t, X, model, team, progress, [&] {
    return crossing_visitor<Model>(t, model, p, set, found);
  }));
  return found;
}

/// Σ log p̃_T over the siblings on the way from each node to its root, less log p̃_T of the root:
/// what a weight at the node becomes at the root, relative to the tree's own.
[[nodiscard]] inline std::vector<double> log_lift(const tree& t, const tree_posterior& p) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  std::vector<double> lift(at(t.nodes()));
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const index_t up = t.parent(k);
    // p̃_T(sibling) p̃_T(k) / p̃_T(parent) = 1 - r(parent)
    lift[at(k)] = up < 0 ? -p.log_tree[at(k)]
                         : lift[at(up)] + log_sigmoid(-p.log_odds[at(up)]) +
                               (p.log_tree[at(up)] - p.log_tree[at(k)]);
  }
  return lift;
}

/// log of the prior's normaliser Γ(α) / Γ(α + n).
[[nodiscard]] inline double log_normaliser(double alpha, index_t n) {
  return -log_gamma_ratio(alpha, static_cast<double>(n));
}

}  // namespace detail

/// Xu et al.'s theorem 1 with two or four relocations a node: the tree's bound plus one relocation
/// at a time. `p` is the tree's posterior for the same X and family. O(n · width).
template <class Family>
[[nodiscard]] relocations relocate(const tree& t, const tree_posterior& p, const table_view& X,
                                   const Family& family, relocation_set set = relocation_set::four,
                                   const progress_function& report = {}, int n_threads = 0) {
  detail::require_leaves(t, X.rows());
  detail::progress_meter progress(report, t.nodes());
  const auto model = bind_prepared(family, X);
  detail::thread_team team(n_threads);
  relocations found;
  found.log_crossing = detail::crossing_clusters(t, X, model, p, set, team, progress);
  const auto lift = detail::log_lift(t, p);
  double root_gain = 0.0;  // log of (1 + all gains), relative to the tree's bound
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    auto gain = found.log_crossing[static_cast<std::size_t>(k - t.leaves())];
    for (const relocation move : detail::all_relocations) {
      double& one = gain[detail::number_of(move)];
      if (!std::isfinite(one)) continue;
      const index_t left_over = detail::nodes_of(t, k, move).left_over;
      one += p.log_tree[static_cast<std::size_t>(left_over)] + lift[static_cast<std::size_t>(k)];
    }
    found.log_gain.push_back(gain);
    found.log_gain_of_merge.push_back(detail::log_sum_exp(gain.data(), 4));
    root_gain = detail::log_add_exp(root_gain, found.log_gain_of_merge.back());
  }
  found.log_evidence_bound = p.log_evidence_bound + root_gain;
  progress.finish();
  return found;
}

/// The tree with one relocation done at an inner node: the moved grandchild becomes the sibling of
/// the other child, and what was left over the sibling of both. Costs are dropped.
[[nodiscard]] inline tree relocated_tree(const tree& t, index_t node, relocation move) {
  require(node >= t.leaves() && node < t.nodes(), [&] {
    return "node " + std::to_string(node) + " is not an inner node of the tree (they go from " +
           std::to_string(t.leaves()) + " to " + std::to_string(t.nodes() - 1) + ")";
  });
  require(detail::possible(t, node, move), [&] {
    return "node " + std::to_string(node) + " has no such relocation: its child is a leaf";
  });
  const auto change = detail::nodes_of(t, node, move);
  const index_t opened = detail::opens_left(move) ? t.left(node) : t.right(node);
  tree_builder grown(t.leaves());
  std::vector<index_t> renamed(static_cast<std::size_t>(t.nodes()), -1);
  const auto name = [&](index_t k) { return renamed[static_cast<std::size_t>(k)]; };
  for (index_t k = 0; k < t.nodes(); ++k) {
    if (t.is_leaf(k)) {
      renamed[static_cast<std::size_t>(k)] = k;
    } else if (k == node) {
      const index_t crossing = grown.join(name(change.moved), name(change.joined));
      renamed[static_cast<std::size_t>(k)] = grown.join(name(change.left_over), crossing);
    } else if (k != opened) {
      renamed[static_cast<std::size_t>(k)] = grown.join(name(t.left(k)), name(t.right(k)));
    }
  }
  return std::move(grown).finish();
}

/// The `joint` bound: one recursion in which relocations in disjoint subtrees combine,
/// Z_k = p̃_H(k) + Z_l Z_r + Σ p̃_H(crossing) Z(left over). At least as tight as four relocations.
/// O(n · width).
template <class Family>
[[nodiscard]] double joint_evidence_bound(const tree& t, const tree_posterior& p,
                                          const table_view& X, const Family& family,
                                          const progress_function& report = {}, int n_threads = 0) {
  detail::require_leaves(t, X.rows());
  detail::progress_meter progress(report, t.nodes());
  const auto model = bind_prepared(family, X);
  detail::thread_team team(n_threads);
  const auto crossing =
      detail::crossing_clusters(t, X, model, p, relocation_set::four, team, progress);
  // excess = log Z - log p̃_T >= 0, so that nothing large is subtracted
  std::vector<double> excess(static_cast<std::size_t>(t.nodes()), 0.0);
  double bound = p.log_evidence_bound;
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    std::array<double, 6> terms = {detail::log_sigmoid(p.log_odds[at]),
                                   detail::log_sigmoid(-p.log_odds[at]) +
                                       excess[static_cast<std::size_t>(t.left(k))] +
                                       excess[static_cast<std::size_t>(t.right(k))]};
    for (const relocation move : detail::all_relocations) {
      const double one =
          crossing[static_cast<std::size_t>(k - t.leaves())][detail::number_of(move)];
      double& term = terms[2 + detail::number_of(move)];
      term = one;
      if (!std::isfinite(one)) continue;
      const auto left_over = static_cast<std::size_t>(detail::nodes_of(t, k, move).left_over);
      term += (p.log_tree[left_over] - p.log_tree[at]) + excess[left_over];
    }
    excess[at] = detail::log_sum_exp(terms.data(), 6);
    if (t.parent(k) < 0) bound += excess[at];
  }
  progress.finish();
  return bound;
}

namespace detail {

/// Every node at or below `top`, with the log of the product of Z over the siblings hanging off the
/// way from `top` down to it.
[[nodiscard]] inline std::vector<std::pair<index_t, double>> below(
    const tree& t, index_t top, const std::vector<double>& log_z) {
  std::vector<std::pair<index_t, double>> found{{top, 0.0}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [node, hanging] = found[i];
    if (t.is_leaf(node)) continue;
    const index_t l = t.left(node);
    const index_t r = t.right(node);
    found.emplace_back(l, hanging + log_z[static_cast<std::size_t>(r)]);
    found.emplace_back(r, hanging + log_z[static_cast<std::size_t>(l)]);
  }
  return found;
}

}  // namespace detail

/// The `all_pairs` bound: the crossing cluster is a ∪ b for every a at or below l and b at or below
/// r, but l ∪ r. At least as tight as `joint`. O(n²) marginal likelihoods, O(n · width) memory.
template <class Family>
[[nodiscard]] double all_pairs_evidence_bound(const tree& t, const tree_posterior& p,
                                              const table_view& X, const Family& family,
                                              const progress_function& report = {}) {
  detail::require_leaves(t, X.rows());
  const index_t n = t.leaves();
  detail::progress_meter progress(report, n * (n - 1) / 2);
  const auto model = bind_prepared(family, X);
  detail::statistics_block statistics(model.width());
  for (index_t k = 0; k < t.nodes(); ++k) statistics.append();
  detail::for_each_node_statistics(t, X, model, [&](index_t k, const double* s) {
    std::copy_n(s, model.width(), statistics[k]);
    progress.tick();
  });
  std::vector<double> log_z = p.log_tree;
  std::vector<double> crossing(static_cast<std::size_t>(model.width()));
  for (index_t k = n; k < t.nodes(); ++k) {
    const index_t l = t.left(k);
    const index_t r = t.right(k);
    double sum = detail::log_add_exp(
        detail::log_one_cluster(p.alpha, p.n_rows(t, k),
                                p.log_marginal[static_cast<std::size_t>(k)]),
        log_z[static_cast<std::size_t>(l)] + log_z[static_cast<std::size_t>(r)]);
    const auto right = detail::below(t, r, log_z);
    for (const auto& [a, beside_a] : detail::below(t, l, log_z)) {
      for (const auto& [b, beside_b] : right) {
        if (a == l && b == r) continue;
        std::copy_n(statistics[a], model.width(), crossing.data());
        model.merge(crossing.data(), statistics[b]);
        sum = detail::log_add_exp(sum,
                                  detail::log_one_cluster(p.alpha, p.n_rows(t, a) + p.n_rows(t, b),
                                                          model.log_marginal(crossing.data())) +
                                      beside_a + beside_b);
        progress.tick();
      }
      progress.advance(t.is_leaf(a) ? t.size(r) : 0);
    }
    log_z[static_cast<std::size_t>(k)] = sum;
  }
  progress.finish();
  double bound = detail::log_normaliser(p.alpha, p.n_rows(t));
  for (const index_t root : t.roots()) bound += log_z[static_cast<std::size_t>(root)];
  return bound;
}

/// The log evidence of the Dirichlet process mixture by summing over all partitions:
/// f(S) = Σ_{A ⊆ S, min S ∈ A} p̃_H(A) f(S ∖ A). O(3^n); at most 15 rows. Nats.
template <class Family>
[[nodiscard]] double exact_log_evidence(const table_view& X, const Family& family, double alpha,
                                        const progress_function& report = {}) {
  check_alpha(alpha);
  const index_t n = X.rows();
  require(n <= 15, [&] {
    return "X has " + std::to_string(n) +
           " rows; the exact evidence is a sum over all partitions and takes at most 15 (use a "
           "bound of the posterior)";
  });
  const std::size_t subsets = std::size_t{1} << static_cast<unsigned>(n);
  detail::progress_meter progress(report, static_cast<index_t>(2 * subsets));
  const auto model = bind(family, X);
  std::vector<double> log_h(subsets), log_f(subsets, 0.0);
  std::vector<double> all(static_cast<std::size_t>(model.width())), one(all.size());
  for (std::size_t s = 1; s < subsets; ++s) {
    std::fill(all.begin(), all.end(), 0.0);
    index_t size = 0;
    for (index_t i = 0; i < n; ++i) {
      if ((s >> static_cast<unsigned>(i) & 1U) == 0) continue;
      std::fill(one.begin(), one.end(), 0.0);
      model.observe(X.row(i), one.data());
      model.merge(all.data(), one.data());
      size += X.weight(i);
    }
    log_h[s] = detail::log_one_cluster(alpha, size, model.log_marginal(all.data()));
    progress.advance(1);
    progress.tick();
  }
  for (std::size_t s = 1; s < subsets; ++s) {
    const std::size_t lowest = s & (~s + 1);
    const std::size_t rest = s ^ lowest;
    double sum = -std::numeric_limits<double>::infinity();
    for (std::size_t others = rest;; others = (others - 1) & rest) {
      sum = detail::log_add_exp(sum, log_h[others | lowest] + log_f[rest ^ others]);
      if (others == 0) break;
    }
    log_f[s] = sum;
    progress.advance(1);
    progress.tick();
  }
  progress.finish();
  return log_f[subsets - 1] + detail::log_normaliser(alpha, X.total_weight());
}

}  // namespace bhclust
