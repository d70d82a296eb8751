/// @file
/// Trees of rows that are known to be clusters.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/agglomerate.hpp>
#include <bhclust/detail/average_linkage.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/gathered_rows.hpp>
#include <bhclust/detail/graft.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Grows a tree over each of some sets of rows of a table.
///
/// Greedy BHC takes a set of at most `most` rows. A larger one is split: greedy BHC makes a tree of
/// a random sample of as many rows as its square root, at most `most`, and each other row x goes to
/// the row s of the sample with the largest p(x | s), of equal ones the first. What comes to a row
/// of the sample is a part, and is split in turn, or makes its tree by average linkage of the rows'
/// gains with each other. A part that keeps more than 15/16 of its rows (duplicates) is dealt out
/// at random to two halves.
template <class Model>
class cluster_trees {
 public:
  using store_type = typename store_for<Model, evidence_score>::type;

  /// With a store of X, which lends its tables, and its rows if it has them: row i in slot i.
  cluster_trees(const Model& model, const table_view& X, double alpha, index_t most,
                std::uint64_t seed, const store_type& whole, bool has_rows)
      : model_(model),
        X_(X),
        alpha_(alpha),
        most_(most),
        seed_(seed),
        whole_(whole),
        has_rows_(has_rows) {}

  /// Over the sets, each ascending and all disjoint, as a forest over all rows, without costs;
  /// `roots` gets those of the sets. The parts of a generation share the team's threads.
  [[nodiscard]] tree run(std::vector<std::vector<index_t>> sets, std::vector<index_t>& roots,
                         thread_team& team, progress_meter& progress) {
    const std::size_t count = sets.size();
    parts_.clear();
    for (auto& rows : sets) add_part(std::move(rows), kind::set);
    for (std::size_t begin = 0; begin < parts_.size();) {
      const std::size_t end = parts_.size();
      grow_generation(begin, end, team, progress);
      for (std::size_t p = begin; p < end; ++p) take_children(p);
      begin = end;
    }
    return put_together(roots, count);
  }

 private:
  enum class kind { set, part, split };

  /// A tree over rows, or one over parts that come later.
  struct part {
    std::vector<index_t> rows;
    kind is;
    tree top{};
    std::vector<std::vector<index_t>> sets{};
    std::size_t first_child = 0;
  };

  /// What a thread works with.
  struct workspace {
    explicit workspace(const table_view& X) : gathered(X) {}

    gathered_rows gathered;
    average_linkage linkage{};
    std::vector<double> gains{}, best{};
    std::vector<std::size_t> where{};
    typename store_type::query query{};
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void add_part(std::vector<index_t> rows, kind is) {
    parts_.push_back({std::move(rows), is, {}, {}, 0});
  }

  void grow_generation(std::size_t begin, std::size_t end, thread_team& team,
                       progress_meter& progress) {
    std::vector<std::size_t> worth;
    for (std::size_t p = begin; p < end; ++p) {
      if (parts_[p].rows.size() > 2) worth.push_back(p);
    }
    std::vector<workspace> spaces;
    for (int thread = 0; thread < team.size(); ++thread) spaces.emplace_back(X_);
    team.run(
        static_cast<index_t>(worth.size()),
        [&](int thread, index_t i) {
          progress_meter own(ticks_of(thread, progress), 1);
          const std::size_t p = worth[at(i)];
          grow(parts_[p], seed_ + 0x9E3779B97F4A7C15U * (p + 1), spaces[at(thread)], own);
        },
        [&] { progress.tick(); });
  }

  void grow(part& p, std::uint64_t seed, workspace& space, progress_meter& progress) const {
    const auto n = static_cast<index_t>(p.rows.size());
    if (n <= most_) {
      p.top = p.is == kind::set ? greedy(p.rows, space, progress) : linked(p.rows, space);
      return;
    }
    random_source random(seed);
    const auto root = static_cast<index_t>(std::llround(std::sqrt(static_cast<double>(n))));
    const index_t taken = std::clamp<index_t>(root, 2, std::max<index_t>(most_, 2));
    random.choose(p.rows, taken);
    std::sort(p.rows.begin(), p.rows.begin() + taken);
    sort_to_sample(p, taken, space);
    p.top = greedy({p.rows.begin(), p.rows.begin() + taken}, space, progress);
    halve_if_whole(p, random);
    p.is = kind::split;
    std::vector<index_t>().swap(p.rows);
    for (auto& set : p.sets) std::sort(set.begin(), set.end());
  }

  /// Of some rows alone.
  [[nodiscard]] store_type store_of(const std::vector<index_t>& rows, workspace& space) const {
    if constexpr (may_lend_rows<store_type>) {
      if (has_rows_) return store_type(whole_, rows);
    }
    space.gathered.assign(rows);
    return make_store_alike<evidence_score>(whole_, model_, space.gathered.view());
  }

  [[nodiscard]] tree greedy(const std::vector<index_t>& rows, workspace& space,
                            progress_meter& progress) const {
    std::vector<index_t> weights;
    for (const index_t i : rows) weights.push_back(X_.weight(i));
    log_d_rule rule(std::vector<double>(rows.size(), 0.0), std::move(weights), alpha_);
    return agglomerate(store_of(rows, space), std::move(rule), 1, progress);
  }

  [[nodiscard]] tree linked(const std::vector<index_t>& rows, workspace& space) const {
    const auto store = store_of(rows, space);
    const auto n = static_cast<index_t>(rows.size());
    space.linkage.resize(n);
    for (index_t i = 1; i < n; ++i) {
      double* costs = space.linkage.costs_before(i);
      store.load(space.query, i);
      store.row(space.query, 0, i, costs);
      std::transform(costs, costs + i, costs, [](double gain) { return -gain; });
    }
    pulse();
    return space.linkage.run();
  }

  /// The first `taken` rows are the sample. Rows come in chunks, each with the sample before it.
  void sort_to_sample(part& p, index_t taken, workspace& space) const {
    constexpr index_t at_once = 2048;
    const auto n = static_cast<index_t>(p.rows.size());
    std::vector<std::size_t> sample_of(at(n));
    for (std::size_t s = 0; s < at(taken); ++s) sample_of[s] = s;
    std::vector<index_t> some;
    for (index_t begin = taken; begin < n; begin += at_once) {
      const index_t count = std::min(at_once, n - begin);
      some.assign(p.rows.begin(), p.rows.begin() + taken);
      some.insert(some.end(), p.rows.begin() + begin, p.rows.begin() + begin + count);
      sort_chunk(some, taken, space);
      std::copy(space.where.begin(), space.where.end(), sample_of.begin() + begin);
      pulse();
    }
    std::vector<std::size_t> size(at(taken), 0);
    for (const std::size_t s : sample_of) ++size[s];
    p.sets.assign(at(taken), {});
    for (std::size_t s = 0; s < at(taken); ++s) p.sets[s].reserve(size[s]);
    for (std::size_t i = 0; i < at(n); ++i) p.sets[sample_of[i]].push_back(p.rows[i]);
  }

  void sort_chunk(const std::vector<index_t>& rows, index_t taken, workspace& space) const {
    const auto count = static_cast<index_t>(rows.size()) - taken;
    const auto store = store_of(rows, space);
    space.where.assign(at(count), 0);
    space.best.assign(at(count), -std::numeric_limits<double>::infinity());
    space.gains.resize(at(count));
    for (index_t s = 0; s < taken; ++s) {
      store.load(space.query, s);
      store.row(space.query, taken, taken + count, space.gains.data());
      for (std::size_t i = 0; i < at(count); ++i) {
        const bool better = space.gains[i] > space.best[i];
        space.where[i] = better ? at(s) : space.where[i];
        space.best[i] = better ? space.gains[i] : space.best[i];
      }
    }
  }

  static void halve_if_whole(part& p, random_source& random) {
    for (std::size_t s = 0; s < p.sets.size(); ++s) {
      if (16 * p.sets[s].size() <= 15 * p.rows.size()) continue;
      auto& set = p.sets[s];
      const auto half = static_cast<index_t>(set.size() / 2);
      random.choose(set, half);
      p.sets.emplace_back(set.begin(), set.begin() + half);
      p.sets[s].erase(p.sets[s].begin(), p.sets[s].begin() + half);
      p.top = with_twin(p.top, static_cast<index_t>(s));
      return;
    }
  }

  /// A tree of one leaf more, beside the one named.
  [[nodiscard]] static tree with_twin(const tree& t, index_t leaf) {
    tree_builder made(t.leaves() + 1);
    std::vector<index_t> nodes(at(t.leaves()));
    for (index_t i = 0; i < t.leaves(); ++i) nodes[at(i)] = i;
    nodes[at(leaf)] = made.join(leaf, t.leaves());
    static_cast<void>(graft(made, t, std::move(nodes)));
    return std::move(made).finish();
  }

  void take_children(std::size_t p) {
    parts_[p].first_child = parts_.size();
    auto sets = std::move(parts_[p].sets);
    for (auto& set : sets) add_part(std::move(set), kind::part);
  }

  [[nodiscard]] tree put_together(std::vector<index_t>& roots, std::size_t count) const {
    tree_builder grown(X_.rows());
    std::vector<index_t> node(parts_.size());
    for (std::size_t i = parts_.size(); i-- > 0;) {
      const part& p = parts_[i];
      if (p.is != kind::split && p.rows.size() <= 2) {
        node[i] = p.rows.size() == 1 ? p.rows[0] : grown.join(p.rows[0], p.rows[1]);
        continue;
      }
      std::vector<index_t> below = p.rows;
      if (p.is == kind::split) {
        const auto first = node.begin() + static_cast<std::ptrdiff_t>(p.first_child);
        below.assign(first, first + p.top.leaves());
      }
      node[i] = graft(grown, p.top, std::move(below));
    }
    roots.assign(node.begin(), node.begin() + static_cast<std::ptrdiff_t>(count));
    return std::move(grown).finish();
  }

  const Model& model_;
  table_view X_;
  double alpha_;
  index_t most_;
  std::uint64_t seed_;
  const store_type& whole_;
  bool has_rows_;
  std::vector<part> parts_;  ///< those of a part after it
};

}  // namespace bhclust::detail
