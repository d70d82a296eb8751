/// @file
/// Mixed columns: a family for each block of columns, independent given the cluster.
#pragma once

#include <bhclust/any_family.hpp>
#include <bhclust/detail/screened_search.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// One family and the columns of the table it is for.
struct product_block {
  any_family family;
  std::vector<index_t> columns;
};

namespace detail {

/// A copy of some columns of a dense table.
class column_copy {
 public:
  column_copy(const table_view& X, const std::vector<index_t>& columns)
      : columns_(static_cast<index_t>(columns.size())), rows_(X.rows()) {
    cells_.reserve(static_cast<std::size_t>(X.rows() * columns_));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      pace(8 * columns_);
      for (const index_t j : columns) cells_.push_back(row.value(j));
    }
  }
  [[nodiscard]] table_view view() const { return rows(cells_.data(), rows_, columns_); }

 private:
  index_t columns_, rows_;
  std::vector<double> cells_;
};

/// Statistics: the blocks', one after another.
class product_model {
 public:
  template <class Score>
  class store;

  product_model(const std::vector<product_block>& blocks, index_t columns)
      : mean_size_(static_cast<std::size_t>(columns), 1), block_(mean_size_.size(), -1) {
    for (const auto& block : blocks) {
      models_.push_back(bhclust::bind(block.family, static_cast<index_t>(block.columns.size())));
      columns_.push_back(block.columns);
      offset_.push_back(offset_.back() + models_.back().width());
      for (std::size_t j = 0; j < block.columns.size(); ++j) {
        const auto column = static_cast<std::size_t>(block.columns[j]);
        mean_size_[column] = models_.back().mean_size(static_cast<index_t>(j));
        block_[column] = static_cast<index_t>(models_.size()) - 1;
      }
    }
    for (const index_t size : mean_size_) mean_offset_.push_back(mean_offset_.back() + size);
  }

  [[nodiscard]] index_t width() const noexcept { return offset_.back(); }

  void observe(const row_view& row, double* t) const {
    std::vector<double> cells;
    for (std::size_t b = 0; b < models_.size(); ++b) {
      cells.clear();
      for (const index_t j : columns_[b]) cells.push_back(row.value(j));
      models_[b].observe(row_view(cells.data(), static_cast<index_t>(cells.size())),
                         t + offset_[b]);
    }
  }

  [[nodiscard]] double log_marginal(const double* t) const {
    double sum = 0.0;
    for (std::size_t b = 0; b < models_.size(); ++b) sum += models_[b].log_marginal(t + offset_[b]);
    return sum;
  }

  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    for (std::size_t b = 0; b < models_.size(); ++b) {
      if (!models_[b].possible(t + offset_[b], rows)) return false;
    }
    return true;
  }

  void prepare(index_t rows) {
    offset_.resize(1);
    for (auto& model : models_) {
      model.prepare(rows);
      offset_.push_back(offset_.back() + model.width());
    }
  }

  void prepare_in_place(index_t rows) {
    for (auto& model : models_) model.prepare_in_place(rows);
  }

  void merge(double* t, const double* s) const {
    for (std::size_t b = 0; b < models_.size(); ++b)
      models_[b].merge(t + offset_[b], s + offset_[b]);
  }

  void remove(double* t, const double* s) const {
    for (std::size_t b = 0; b < models_.size(); ++b)
      models_[b].remove(t + offset_[b], s + offset_[b]);
  }

  [[nodiscard]] double divergence(const double* t, const double* s) const {
    double sum = 0.0;
    for (std::size_t b = 0; b < models_.size(); ++b) {
      std::vector<double> scratch(static_cast<std::size_t>(models_[b].width()));
      sum += models_[b].divergence(t + offset_[b], s + offset_[b], scratch.data());
    }
    return sum;
  }

  /// The blocks' gradients, one after another.
  [[nodiscard]] index_t gradient_size() const {
    index_t sum = 0;
    for (const auto& model : models_) sum += model.gradient_size();
    return sum;
  }

  void add_gradient(const double* t, double weight, double* g) const {
    for (std::size_t b = 0; b < models_.size(); ++b) {
      models_[b].add_gradient(t + offset_[b], weight, g);
      g += models_[b].gradient_size();
    }
  }

  [[nodiscard]] index_t mean_size(index_t column) const noexcept {
    return mean_size_[static_cast<std::size_t>(column)];
  }

  /// NaN for columns in no block.
  void predictive_mean(const double* t, double* out) const {
    std::fill_n(out, mean_offset_.back(), std::numeric_limits<double>::quiet_NaN());
    std::vector<double> means;
    for (std::size_t b = 0; b < models_.size(); ++b) {
      index_t size = 0;
      for (const index_t j : columns_[b]) size += mean_size(j);
      means.resize(static_cast<std::size_t>(size));
      models_[b].predictive_mean(t + offset_[b], means.data());
      const double* mean = means.data();
      for (const index_t j : columns_[b]) {
        std::copy_n(mean, mean_size(j), out + mean_offset_[static_cast<std::size_t>(j)]);
        mean += mean_size(j);
      }
    }
  }

  /// NaN for columns in no block.
  void sample(const double* t, random_source& random, double* row) const {
    std::vector<double> cells;
    for (std::size_t b = 0; b < models_.size(); ++b) {
      cells.clear();
      for (const index_t j : columns_[b]) cells.push_back(row[j]);
      models_[b].sample(t + offset_[b], random, cells.data());
      for (std::size_t j = 0; j < cells.size(); ++j) row[columns_[b][j]] = cells[j];
    }
    for (std::size_t j = 0; j < block_.size(); ++j) {
      if (block_[j] < 0) row[j] = std::numeric_limits<double>::quiet_NaN();
    }
  }

  /// The blocks' own; 0 for columns in no block. Within a block its columns keep their order.
  void column_terms(const double* t, const index_t* order, double* out) const {
    std::fill_n(out, block_.size(), 0.0);
    for (std::size_t b = 0; b < models_.size(); ++b) {
      const auto& columns = columns_[b];
      std::vector<index_t> own;
      if (order != nullptr) own = order_within(b, order);
      std::vector<double> terms(columns.size());
      models_[b].column_terms(t + offset_[b], order == nullptr ? nullptr : own.data(),
                              terms.data());
      for (std::size_t j = 0; j < columns.size(); ++j) out[columns[j]] = terms[j];
    }
  }

 private:
  /// The places in block b of its columns, in the order of all columns.
  [[nodiscard]] std::vector<index_t> order_within(std::size_t b, const index_t* order) const {
    std::vector<index_t> own, place(block_.size());
    for (std::size_t j = 0; j < columns_[b].size(); ++j) {
      place[static_cast<std::size_t>(columns_[b][j])] = static_cast<index_t>(j);
    }
    for (std::size_t i = 0; i < block_.size(); ++i) {
      const auto column = static_cast<std::size_t>(order[i]);
      if (block_[column] == static_cast<index_t>(b)) own.push_back(place[column]);
    }
    return own;
  }

  std::vector<model_of<any_family>> models_;
  std::vector<std::vector<index_t>> columns_;
  std::vector<index_t> offset_{0};
  std::vector<index_t> mean_size_;  ///< of each column of the table
  std::vector<index_t> block_;      ///< of each column of the table, -1 for none
  std::vector<index_t> mean_offset_{0};
};

/// The sum of the blocks' own stores.
template <class Score>
class product_model::store {
 public:
  using block_store = any_model::store<Score>;
  struct query {
    std::vector<typename block_store::query> blocks;
    index_t own = -1;
  };

  store(const product_model& model, const table_view& X) : offsets_(X.rows()) {
    for (std::size_t b = 0; b < model.models_.size(); ++b) {
      const column_copy cells(X, model.columns_[b]);
      blocks_.emplace_back(model.models_[b].base(), cells.view());
    }
  }

  store(const store& whole, const product_model& model, const table_view& some)
      : offsets_(some.rows()) {
    for (std::size_t b = 0; b < model.models_.size(); ++b) {
      const column_copy cells(some, model.columns_[b]);
      blocks_.emplace_back(whole.blocks_[b], model.models_[b].base(), cells.view());
    }
  }

  [[nodiscard]] index_t slots() const { return blocks_.front().slots(); }

  void load(query& q, index_t slot) const {
    q.blocks.resize(blocks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].load(q.blocks[b], slot);
    q.own = slot;
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    blocks_.front().row(q.blocks.front(), begin, end, out);
    std::vector<double> more(static_cast<std::size_t>(end - begin));
    for (std::size_t b = 1; b < blocks_.size(); ++b) {
      blocks_[b].row(q.blocks[b], begin, end, more.data());
      for (index_t s = 0; s < end - begin; ++s) out[s] += more[static_cast<std::size_t>(s)];
    }
  }

  [[nodiscard]] index_t query_width() const {
    index_t sum = 0;
    for (const auto& block : blocks_) {
      const index_t width = block.query_width();
      if (width == 0) return 0;
      sum += width;
    }
    return sum;
  }

  /// Divergences add up, and so do bounds on them; a block without bounds gives what it has.
  [[nodiscard]] bool bounds_costs() const {
    return Score::kind == score_kind::relaxed &&
           std::any_of(blocks_.begin(), blocks_.end(), [](const auto& b) { return can_bound(b); });
  }
  [[nodiscard]] bool searches() const { return bounds_costs(); }

  void bounds(const query& q, index_t begin, index_t end, double* out) const {
    std::vector<double> more(static_cast<std::size_t>(end - begin));
    std::fill_n(out, end - begin, 0.0);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const bool bounded = can_bound(blocks_[b]);
      if (bounded) {
        blocks_[b].bounds(q.blocks[b], begin, end, more.data());
      } else {
        blocks_[b].row(q.blocks[b], begin, end, more.data());
      }
      for (index_t i = 0; i < end - begin; ++i) {
        const double x = more[static_cast<std::size_t>(i)];
        out[i] += bounded ? x : -x;
      }
    }
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    std::vector<double> bound(static_cast<std::size_t>(end - begin));
    bounds(q, begin, end, bound.data());
    offsets_.add(q.own, begin, end, offset, bound.data());
    const auto as_they_are = [](cheapest*, index_t) {};
    const auto take = [&](index_t s) {
      double gain = 0.0;
      row(q, s, s + 1, &gain);
      best.take(offset(s) - gain, s);
    };
    screened_search search(best, as_they_are, take);
    search.offer(bound.data(), end - begin, [begin](index_t i) { return begin + i; });
    std::move(search).finish();
  }

  void retire(index_t slot) { offsets_.retire(slot); }

  index_t merge(index_t a, index_t b) {
    for (auto& block : blocks_) block.merge(a, b);
    offsets_.append();
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& slots) {
    for (auto& block : blocks_) block.keep(slots);
    offsets_.keep(slots);
  }

 private:
  std::vector<block_store> blocks_;
  slot_offsets offsets_;
};

}  // namespace detail

/// Different families for different columns of a dense table. Every column belongs to one block at
/// most; columns in no block are not looked at.
struct Product {
  std::vector<product_block> blocks;

  static constexpr const char* doc =
      "Mixed columns: each block of columns has a family of its own; blocks are independent given "
      "the cluster. Missing cells are allowed where the block's family allows them.";

  [[nodiscard]] static const char* name() { return "Product"; }

  [[nodiscard]] detail::product_model bind(index_t columns) const {
    check_columns(columns);
    return {blocks, columns};
  }

  /// Checks each block's columns by its family; messages name the column of the whole table.
  void check_data(const table_view& X) const {
    require(!X.sparse(), "X is sparse; Product takes dense tables: convert it (X.toarray())");
    require(X.rows() >= 1, "X has no rows; at least one is needed");
    check_columns(X.columns());
    for (const auto& block : blocks) {
      const detail::column_copy cells(X, block.columns);
      try {
        block.family.check_data(cells.view());
      } catch (const cell_error& e) {
        throw cell_error(e.row(), block.columns[static_cast<std::size_t>(e.column())],
                         e.complaint());
      }
    }
  }

 private:
  void check_columns(index_t columns) const {
    require(!blocks.empty(), "Product has no blocks; give at least one (family, columns) pair");
    std::vector<unsigned char> taken(static_cast<std::size_t>(columns), 0);
    for (const auto& block : blocks) {
      require(!block.columns.empty(),
              [&] { return "Product: a block of " + block.family.name() + " has no columns"; });
      for (const index_t j : block.columns) {
        require(j >= 0 && j < columns, [&] {
          return "Product: column " + std::to_string(j) + " is not in X, which has " +
                 std::to_string(columns) + " columns";
        });
        require(taken[static_cast<std::size_t>(j)]++ == 0,
                [&] { return "Product: column " + std::to_string(j) + " is in two blocks"; });
      }
    }
  }
};

}  // namespace bhclust
