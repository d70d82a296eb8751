/// @file
/// Rows join clusters one after another, as in Bayes K-means.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Xu's sequential assignment: each row, in the table's order, joins the cluster or opens the one
/// that gives the largest marginal likelihood of the partition so far, of equal ones the oldest
/// cluster. Row x raises log p by log p(x) + gain(c, x) + log |c| in cluster c, by log p(x) + log α
/// alone; a group of w rows by log Γ(|c| + w) / Γ(|c|) and by log α Γ(w).
///
/// A cluster is taken for what it was when its scores were last made; they are made anew when it
/// has grown by a quarter since, so with each of its first four rows.
///
/// Rows come in blocks whose gains with the clusters are known beforehand; a cluster whose scores
/// are made anew meets the rest of the block again. Where merges leave queries good each cluster
/// keeps its own. Where stores know how high a cluster's predictive density is at most (its peak),
/// clusters come to each eight rows in the order of their peaks, and once these are too low to be
/// the best for any of the eight the others are passed over.
template <class Store>
class row_assignment {
 public:
  row_assignment(Store store, const table_view& X, double alpha, thread_team& team,
                 progress_meter& progress)
      : store_(std::move(store)),
        X_(X),
        team_(team),
        progress_(progress),
        rows_(X.rows()),
        least_value_(std::nextafter(std::log(alpha), -infinity)),
        query_width_(query_width(store_)),
        knows_peaks_(has_peaks(store_) && !X.weighted()),
        rounding_(gain_rounding(X.columns())),
        has_rows_(lends_rows(store_) && rows_ <= most_rows_kept),
        most_in_queries_(262144 + X.cells()),
        most_values_(262144 + X.cells() / 2),
        taken_(at(X.rows()), false) {}

  void run(const std::vector<index_t>& seeds) {
    keeps_queries_ = query_width_ > 0 && room_for_queries(static_cast<index_t>(seeds.size()));
    for (const index_t i : seeds) {
      taken_[at(i)] = true;
      open(i);
    }
    for (index_t begin = 0; begin < rows_; begin += block_) {
      forget_queries_if_many();
      block_ = block_for(count());
      assign_block(begin, std::min(rows_, begin + block_));
      progress_.tick();
    }
    for (auto& c : clusters_) take_in(c);
    const auto older = [](const cluster& a, const cluster& b) { return a.slot < b.slot; };
    std::sort(clusters_.begin(), clusters_.end(), older);
    for (auto& c : clusters_) members_.push_back(std::move(c.rows));
    if (!has_rows_) forget_rows();
  }

  /// Whether row i is at slot i of the store.
  [[nodiscard]] bool has_rows() const noexcept { return has_rows_; }
  /// Cluster c is at slot c of the store from now on, and nothing else is there.
  void forget_rows() {
    has_rows_ = false;
    if (clusters_.empty()) return;
    keep_clusters(rows_);
    clusters_.clear();
  }

  /// Rows of each cluster.
  [[nodiscard]] std::vector<std::vector<index_t>>& members() noexcept { return members_; }
  [[nodiscard]] Store& store() noexcept { return store_; }

 private:
  struct cluster {
    std::vector<index_t> rows;
    index_t slot;                    ///< of what its scores are made from
    index_t size;                    ///< rows that are at the slot
    index_t grown = 0;               ///< rows that came since
    std::vector<index_t> waiting{};  ///< their slots
    double log_size = 0.0;           ///< with the next, where peaks are known
    double peak = 0.0;               ///< what values exceed the rows' own terms by, at most
    index_t scored_in = -1;  ///< beginning of the last block in which it was opened or made anew
  };

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// The own term of a row that is taken, or of none: everything is below its best.
  static constexpr double of_no_row = -1e300;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t count() const noexcept { return static_cast<index_t>(clusters_.size()); }
  [[nodiscard]] index_t slot_of_row(index_t i) const noexcept { return i - shift_; }
  [[nodiscard]] double* values_of(index_t c) noexcept { return values_.data() + c * block_; }

  [[nodiscard]] bool room_for_queries(index_t k) const {
    return k <= most_in_queries_ / query_width_;
  }

  /// Whole eights: many only where a thread's share of their scores is worth it, or queries need
  /// it. Fewer than 32 rows would make queries, and put them in order, too often.
  [[nodiscard]] index_t block_for(index_t k) const {
    constexpr index_t least = 32;
    const index_t wanted = keeps_queries_ ? (k < worth_sharing / 128 ? least : 128)
                                          : std::clamp<index_t>(k, least, 256);
    const index_t allowed = most_values_ / std::max(k, index_t{1}) / lanes::count * lanes::count;
    return std::clamp(allowed, least, wanted / lanes::count * lanes::count);
  }

  void open(index_t row) {
    clusters_.push_back({{row}, slot_of_row(row), X_.weight(row)});
    if (!keeps_queries_) return;
    queries_.emplace_back();
    load_query(count() - 1);
  }

  void load_query(index_t c) {
    cluster& of = clusters_[at(c)];
    store_.load(queries_[at(c)], of.slot);
    if constexpr (has<peak_t, Store>) {
      if (!knows_peaks_) return;
      of.log_size = std::log(static_cast<double>(of.size));
      const double peak = store_.peak(queries_[at(c)]) + of.log_size;
      of.peak = std::isnan(peak) ? infinity : peak;
    }
  }

  [[nodiscard]] bool passes_over() const noexcept { return knows_peaks_ && keeps_queries_; }

  void join(cluster& c, index_t row) {
    c.rows.push_back(row);
    c.waiting.push_back(slot_of_row(row));
    c.grown += X_.weight(row);
  }

  [[nodiscard]] static bool outgrown(const cluster& c) noexcept { return 4 * c.grown >= c.size; }

  void take_in(cluster& c) {
    c.slot = merge_all(store_, c.slot, c.waiting);
    c.waiting.clear();
    c.size += std::exchange(c.grown, 0);
  }

  void assign_block(index_t begin, index_t end) {
    const bool all_taken = std::all_of(taken_.begin() + begin, taken_.begin() + end,
                                       [](bool is_taken) { return is_taken; });
    if (all_taken) return;
    keep_clusters_if_sparse(begin);
    score_all(begin, end);
    for (index_t i = begin; i < end; ++i) {
      if (!taken_[at(i)]) assign(i, begin, end);
    }
  }

  void assign(index_t row, index_t begin, index_t end) {
    taken_[at(row)] = true;
    index_t c = best_[at(row - begin)];
    if (c < 0) {
      open(row);
      values_.resize(clusters_.size() * at(block_));
      c = count() - 1;
    } else {
      join(clusters_[at(c)], row);
      if (!outgrown(clusters_[at(c)])) return;
      take_in(clusters_[at(c)]);
      if (keeps_queries_) load_query(c);
    }
    clusters_[at(c)].scored_in = begin;
    rescore(c, begin, row + 1, end);
  }

  void forget_queries_if_many() {
    if (!keeps_queries_ || room_for_queries(count())) return;
    keeps_queries_ = false;
    std::vector<typename Store::query>().swap(queries_);
  }

  /// Not twice what is needed, nor the old values beside the new ones, as vectors grow.
  void resize_values() {
    const std::size_t most = at((count() + block_) * block_);
    if (values_.capacity() < most) {
      std::vector<double>().swap(values_);
      values_.reserve(most + most / 8);
    }
    values_.resize(clusters_.size() * at(block_));
  }

  void score_all(index_t begin, index_t end) {
    resize_values();
    best_.assign(at(end - begin), -1);
    best_value_.assign(at(end - begin), least_value_);
    if constexpr (has<peak_t, Store>) {
      if (passes_over()) {
        score_likely(begin, end);
        return;
      }
    }
    constexpr index_t clusters_a_task = 16;
    const index_t k = count();
    const auto score_some = [&](typename Store::query& query, index_t first) {
      for (index_t c = first; c < std::min(k, first + clusters_a_task); ++c) {
        score(query, c, begin, begin, end);
      }
    };
    const index_t tasks = (k + clusters_a_task - 1) / clusters_a_task;
    if (k * (end - begin) < worth_sharing) {
      for (index_t t = 0; t < tasks; ++t) score_some(query_, t * clusters_a_task);
    } else {
      team_.run(
          tasks,
          [&](int, index_t t) {
            typename Store::query own;
            score_some(own, t * clusters_a_task);
          },
          [&] { progress_.tick(); });
    }
    for (index_t c = 0; c < k; ++c) take(c, values_of(c), 0, end - begin);
  }

  /// Each eight rows with the clusters that may be best for one of them.
  void score_likely(index_t begin, index_t end) {
    constexpr index_t w = lanes::count;
    std::fill_n(values_.begin(), clusters_.size() * at(block_), -infinity);
    by_peak_.clear();
    for (index_t c = 0; c < count(); ++c) by_peak_.emplace_back(clusters_[at(c)].peak, c);
    std::sort(by_peak_.begin(), by_peak_.end(), std::greater<>());
    const index_t eights = (end - begin + w - 1) / w;
    best_value_.resize(at(eights * w), least_value_);
    own_.assign(at(eights * w), of_no_row);
    for (index_t i = begin; i < end; ++i) {
      if (!taken_[at(i)]) own_[at(i - begin)] = store_.own(slot_of_row(i));
    }
    looked_at_.assign(at(eights), count());
    if (count() * (end - begin) < worth_sharing) {
      look_at(0, eights, begin, end);
      return;
    }
    const index_t tasks = team_.size() == 1 ? 1 : std::min(eights, index_t{2} * team_.size());
    team_.run(
        tasks,
        [&](int, index_t t) { look_at(t * eights / tasks, (t + 1) * eights / tasks, begin, end); },
        [&] { progress_.tick(); });
  }

  /// Eights [first, last) of the block with one cluster after another, until none may be best.
  void look_at(index_t first, index_t last, index_t begin, index_t end) {
    constexpr index_t w = lanes::count;
    constexpr index_t least_step = 2;
    std::vector<index_t> open(at(last - first));
    std::iota(open.begin(), open.end(), first);
    index_t next_check = 0;
    for (index_t r = 0; r < count() && !open.empty(); ++r) {
      if (r == next_check) {
        close_eights(open, r);
        next_check += std::max(least_step, r / 8);
      }
      const index_t c = by_peak_[at(r)].second;
      for (std::size_t from = 0, to = 0; from < open.size(); from = to) {
        while (to < open.size() && open[to] - open[from] == static_cast<index_t>(to - from)) ++to;
        const index_t j = open[from] * w;
        const index_t stop = std::min(end - begin, (open[to - 1] + 1) * w);
        score(query_, c, begin, begin + j, begin + stop);
        take(c, values_of(c), j, stop);
      }
    }
  }

  /// Those for which no cluster from the r-th peak on can be the best.
  void close_eights(std::vector<index_t>& open, index_t r) {
    const double peak = by_peak_[at(r)].first;
    const auto closes = [&](index_t e) {
      if (peak >= smallest(least_peaks(e))) return false;
      looked_at_[at(e)] = r;
      return true;
    };
    open.erase(std::remove_if(open.begin(), open.end(), closes), open.end());
  }

  /// What may be the best for a row has a peak of at least so much: for each of the e-th eight.
  [[nodiscard]] lanes least_peaks(index_t e) const noexcept {
    const lanes value = lanes::load(best_value_.data() + e * lanes::count);
    const lanes own = lanes::load(own_.data() + e * lanes::count);
    return (value - own) - (size_of(value) + size_of(own)) * rounding_;
  }
  [[nodiscard]] double least_peak(index_t j) const noexcept {
    double eight[lanes::count];
    least_peaks(j / lanes::count).store(eight);
    return eight[j % lanes::count];
  }

  /// `spare` is used where clusters keep no queries.
  void score(typename Store::query& spare, index_t c, index_t block, index_t begin, index_t end) {
    if (begin == end) return;
    double* out = values_of(c) + (begin - block);
    const cluster& of = clusters_[at(c)];
    if (!keeps_queries_) store_.load(spare, of.slot);
    store_.row(keeps_queries_ ? queries_[at(c)] : spare, slot_of_row(begin), slot_of_row(end), out);
    if (!X_.weighted()) {
      const double weight = passes_over() ? of.log_size : std::log(static_cast<double>(of.size));
      for (index_t j = 0; j < end - begin; ++j) out[j] += weight;
      return;
    }
    for (index_t i = begin; i < end; ++i) out[i - begin] += log_joining(of.size, X_.weight(i));
  }

  /// Cluster c for the rows [begin, end) of the block.
  void take(index_t c, const double* values, index_t begin, index_t end) {
    index_t* best = best_.data();
    double* value = best_value_.data();
    for (index_t j = begin; j < end; ++j) {
      const bool better = (values[j] > value[j]) | ((values[j] == value[j]) & (c < best[j]));
      best[j] = better ? c : best[j];
      value[j] = better ? values[j] : value[j];
    }
  }

  /// Cluster c against the rows from `begin` on, the others' values being known.
  void rescore(index_t c, index_t block, index_t begin, index_t end) {
    score(query_, c, block, begin, end);
    const double* values = values_of(c);
    for (index_t j = begin - block; j < end - block; ++j) {
      if (best_[at(j)] != c) {
        take(c, values, j, j + 1);
      } else if (values[j] < best_value_[at(j)]) {
        choose_again(j, block, end);
      } else {
        best_value_[at(j)] = values[j];
      }
    }
  }

  void choose_again(index_t j, index_t block, index_t end) {
    best_[at(j)] = -1;
    best_value_[at(j)] = least_value_;
    for (index_t c = 0; c < count(); ++c) take(c, values_of(c), j, j + 1);
    if (passes_over()) look_further(j, block, end);
  }

  /// What may be better for row j of the block than all that it was scored with.
  void look_further(index_t j, index_t block, index_t end) {
    const index_t e = j / lanes::count;
    const index_t first = block + e * lanes::count;
    index_t& r = looked_at_[at(e)];
    const auto known = static_cast<index_t>(by_peak_.size());
    for (; r < known && by_peak_[at(r)].first >= least_peak(j); ++r) {
      const index_t c = by_peak_[at(r)].second;
      if (clusters_[at(c)].scored_in == block) continue;
      score(query_, c, block, first, std::min(end, first + lanes::count));
      take(c, values_of(c), j, j + 1);
    }
  }

  /// Once it saves an eighth of all.
  void keep_clusters_if_sparse(index_t begin) {
    constexpr index_t fewest = 64;
    const index_t rows_needed = has_rows_ ? rows_ : rows_ - begin;
    index_t needed = count() + rows_needed;
    for (const auto& c : clusters_) needed += static_cast<index_t>(c.waiting.size());
    if (needed + needed / 8 + fewest < store_.slots()) keep_clusters(has_rows_ ? 0 : begin);
  }

  /// Drops all slots but those of clusters, of rows that wait and of rows from `begin` on.
  void keep_clusters(index_t begin) {
    std::vector<index_t> of_clusters;
    for (const auto& c : clusters_) {
      of_clusters.push_back(c.slot);
      of_clusters.insert(of_clusters.end(), c.waiting.begin(), c.waiting.end());
    }
    std::sort(of_clusters.begin(), of_clusters.end());
    std::vector<index_t> of_rows(at(rows_ - begin));
    std::iota(of_rows.begin(), of_rows.end(), begin < rows_ ? slot_of_row(begin) : 0);
    std::vector<index_t> kept;
    std::set_union(of_clusters.begin(), of_clusters.end(), of_rows.begin(), of_rows.end(),
                   std::back_inserter(kept));
    keep_eights_whole(kept, begin);
    const auto place = [&kept](index_t slot) {
      return static_cast<index_t>(std::lower_bound(kept.begin(), kept.end(), slot) - kept.begin());
    };
    for (auto& c : clusters_) {
      c.slot = place(c.slot);
      for (index_t& slot : c.waiting) slot = place(slot);
    }
    if (begin < rows_) shift_ = begin - place(slot_of_row(begin));
    store_.keep(kept);
  }

  /// Some rows before `begin`, for nothing, so that stores find eight from there side by side.
  void keep_eights_whole(std::vector<index_t>& kept, index_t begin) {
    if (begin >= rows_) return;
    const index_t first = std::exchange(first_row_, begin);
    std::vector<index_t> more;
    index_t before = std::lower_bound(kept.begin(), kept.end(), slot_of_row(begin)) - kept.begin();
    for (index_t i = begin - 1; i >= first && before % lanes::count != 0; --i) {
      if (std::binary_search(kept.begin(), kept.end(), slot_of_row(i))) continue;
      more.push_back(slot_of_row(i));
      ++before;
    }
    if (more.empty()) return;
    kept.insert(kept.end(), more.begin(), more.end());
    std::sort(kept.begin(), kept.end());
  }

  /// Rows so few stay in the store, where trees below take them from.
  static constexpr index_t most_rows_kept = 16384;

  /// Scores worth a fork and join.
  static constexpr index_t worth_sharing = 65536;

  Store store_;
  table_view X_;
  thread_team& team_;
  progress_meter& progress_;
  index_t rows_;
  double least_value_;  ///< just below a row's by itself: of equals a cluster wins
  index_t query_width_;
  bool knows_peaks_;
  double rounding_;  ///< more than the relative error of values
  bool has_rows_;
  index_t most_in_queries_;  ///< so many numbers
  index_t most_values_;  ///< the same, but for clusters of the block and for the shortest blocks
  bool keeps_queries_ = false;
  std::vector<bool> taken_;
  index_t shift_ = 0;      ///< rows dropped, less those that are clusters or wait
  index_t first_row_ = 0;  ///< from here on rows are in the store
  std::vector<cluster> clusters_;
  std::vector<std::vector<index_t>> members_;
  index_t block_ = 0;
  /// gain + log_joining of each cluster and row of the block, -inf where passed over
  std::vector<double> values_;
  std::vector<index_t> best_;       ///< the cluster a row of the block would join, -1: its own
  std::vector<double> best_value_;  ///< filled up to whole eights where clusters are passed over
  std::vector<double> own_;  ///< of the block's rows, where clusters are passed over, as the next
  std::vector<std::pair<double, index_t>> by_peak_;  ///< peak and cluster, the highest first
  std::vector<index_t> looked_at_;  ///< how many of these each eight rows were scored with
  std::vector<typename Store::query> queries_;  ///< of the clusters, where they keep them
  typename Store::query query_;
};

}  // namespace bhclust::detail
