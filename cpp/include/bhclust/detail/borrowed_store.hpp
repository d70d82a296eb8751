/// @file
/// A cluster store that outlives the agglomeration of its clusters.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/types.hpp>

#include <vector>

namespace bhclust::detail {

/// A store lent to an agglomeration.
template <class Store>
class borrowed_store {
 public:
  using query = typename Store::query;

  explicit borrowed_store(Store& store) : store_(&store) {}

  [[nodiscard]] index_t slots() const { return store_->slots(); }
  void load(query& q, index_t slot) const { store_->load(q, slot); }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    store_->row(q, begin, end, out);
  }
  void prepare_searches() { detail::prepare_searches(*store_); }
  [[nodiscard]] bool searches() const { return can_search(*store_); }
  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    if constexpr (has<searches_t, Store>) store_->search(q, begin, end, offset, best);
  }
  void retire(index_t slot) {
    if constexpr (has<searches_t, Store>) store_->retire(slot);
  }
  index_t merge(index_t a, index_t b) { return store_->merge(a, b); }
  void keep(const std::vector<index_t>& slots) { store_->keep(slots); }

 private:
  Store* store_;
};

}  // namespace bhclust::detail
