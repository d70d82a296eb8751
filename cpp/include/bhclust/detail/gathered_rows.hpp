/// @file
/// Some rows of a table as a table of their own.
#pragma once

#include <bhclust/types.hpp>

#include <vector>

namespace bhclust::detail {

/// Copies rows, so that they lie one after another as stores want them. Reusable.
class gathered_rows {
 public:
  explicit gathered_rows(const table_view& X) : X_(X) {}

  void clear() noexcept {
    count_ = 0;
    values_.clear();
    indices_.clear();
    weights_.clear();
    ends_.assign(1, 0);
  }
  void add(index_t i) {
    const row_view row = X_.row(i);
    values_.insert(values_.end(), row.values(), row.values() + row.stored());
    if (X_.sparse()) {
      for (index_t k = 0; k < row.stored(); ++k) indices_.push_back(row.column(k));
      ends_.push_back(static_cast<index_t>(values_.size()));
    }
    if (X_.weighted()) weights_.push_back(X_.weight(i));
    ++count_;
  }
  void add(span<const index_t> chosen) {
    for (const index_t i : chosen) add(i);
  }
  /// Those chosen and no other.
  void assign(span<const index_t> chosen) {
    clear();
    add(chosen);
  }

  /// Valid until the rows change.
  [[nodiscard]] table_view view() const noexcept {
    if (X_.grouped()) {
      return groups(values_.data(), weights_.data(), count_, X_.width(), X_.columns());
    }
    if (!X_.sparse()) return rows(values_.data(), count_, X_.columns());
    return sparse_rows(values_.data(), indices_.data(), ends_.data(), count_, X_.columns());
  }

 private:
  table_view X_;
  index_t count_ = 0;
  std::vector<double> values_;
  std::vector<index_t> indices_;
  std::vector<index_t> ends_{0};
  std::vector<index_t> weights_;
};

}  // namespace bhclust::detail
