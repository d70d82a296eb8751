/// @file
/// One of two stores for a table.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/types.hpp>

#include <memory>
#include <vector>

namespace bhclust::detail {

/// A fast store for the tables it takes (`Fast::takes(model, X)`), a plain one for the rest, which
/// is asked to search only if `PlainSearches`.
template <class Fast, class Plain, bool PlainSearches = false>
class store_or {
 public:
  struct query {
    typename Fast::query fast;
    typename Plain::query plain;
  };

  template <class Model>
  store_or(const Model& model, const table_view& X) {
    if (Fast::takes(model, X)) {
      fast_ = std::make_unique<Fast>(model, X);
    } else {
      plain_ = std::make_unique<Plain>(model, X);
    }
  }

  /// As fast as `whole` where it lends; else a few rows need not be worth the fast store.
  template <class Model>
  store_or(const store_or& whole, const Model& model, const table_view& some) {
    if (whole.fast_ && (lends<Fast, Model> || Fast::takes(model, some))) {
      fast_ = store_alike(*whole.fast_, model, some);
    } else if (whole.fast_) {
      plain_ = std::make_unique<Plain>(model, some);
    } else {
      plain_ = store_alike(*whole.plain_, model, some);
    }
  }

  store_or(const store_or& whole, const std::vector<index_t>& slots)
      : fast_(rows_of(whole.fast_, slots)), plain_(rows_of(whole.plain_, slots)) {}

  [[nodiscard]] bool lends_rows() const {
    return fast_ ? detail::lends_rows(*fast_) : detail::lends_rows(*plain_);
  }
  [[nodiscard]] index_t slots() const noexcept { return fast_ ? fast_->slots() : plain_->slots(); }
  void load(query& q, index_t slot) const {
    fast_ ? fast_->load(q.fast, slot) : plain_->load(q.plain, slot);
  }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    fast_ ? fast_->row(q.fast, begin, end, out) : plain_->row(q.plain, begin, end, out);
  }
  [[nodiscard]] index_t query_width() const {
    return fast_ ? detail::query_width(*fast_) : detail::query_width(*plain_);
  }
  [[nodiscard]] bool has_peaks() const { return fast_ && detail::has_peaks(*fast_); }
  template <class F = Fast, class = peak_t<F>>
  [[nodiscard]] double peak(const query& q) const {
    return fast_->peak(q.fast);
  }
  template <class F = Fast, class = peak_t<F>>
  [[nodiscard]] double own(index_t slot) const {
    return fast_->own(slot);
  }
  void prepare_searches() {
    if (fast_) {
      detail::prepare_searches(*fast_);
    } else if (PlainSearches) {
      detail::prepare_searches(*plain_);
    }
  }
  [[nodiscard]] bool searches() const {
    if (fast_) return can_search(*fast_);
    return PlainSearches && can_search(*plain_);
  }
  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    if constexpr (PlainSearches) {
      if (!fast_) {
        plain_->search(q.plain, begin, end, offset, best);
        return;
      }
    }
    fast_->search(q.fast, begin, end, offset, best);
  }
  void retire(index_t slot) {
    if (fast_) {
      fast_->retire(slot);
    } else if constexpr (PlainSearches) {
      plain_->retire(slot);
    }
  }
  [[nodiscard]] bool bounds_costs() const { return fast_ != nullptr && can_bound(*fast_); }
  template <class F = Fast, class = bounds_t<F>>
  void bounds(const query& q, index_t begin, index_t end, double* out) const {
    fast_->bounds(q.fast, begin, end, out);
  }
  index_t merge(index_t a, index_t b) { return fast_ ? fast_->merge(a, b) : plain_->merge(a, b); }
  index_t merge_all(index_t a, const std::vector<index_t>& others) {
    return fast_ ? detail::merge_all(*fast_, a, others) : detail::merge_all(*plain_, a, others);
  }
  void keep(const std::vector<index_t>& kept) { fast_ ? fast_->keep(kept) : plain_->keep(kept); }

 private:
  template <class Store>
  [[nodiscard]] static std::unique_ptr<Store> rows_of(const std::unique_ptr<Store>& whole,
                                                      const std::vector<index_t>& slots) {
    if constexpr (may_lend_rows<Store>) {
      if (whole) return std::make_unique<Store>(*whole, slots);
    } else {
      static_cast<void>(whole);
      static_cast<void>(slots);
    }
    return nullptr;
  }

  std::unique_ptr<Fast> fast_;
  std::unique_ptr<Plain> plain_;  ///< where there is no fast one
};

}  // namespace bhclust::detail
