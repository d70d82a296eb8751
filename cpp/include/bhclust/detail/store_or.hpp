/// @file
/// One of two stores for a table.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/types.hpp>

#include <utility>
#include <variant>
#include <vector>

namespace bhclust::detail {

/// A fast store for the tables it takes (`Fast::takes(model, X)`), a plain one, which is not asked
/// to search, for the rest.
template <class Fast, class Plain>
class store_or {
 public:
  struct query {
    typename Fast::query fast;
    typename Plain::query plain;
  };

  template <class Model>
  store_or(const Model& model, const table_view& X) : store_(choose(model, X)) {}

  [[nodiscard]] index_t slots() const noexcept {
    return std::visit([](const auto& s) { return s.slots(); }, store_);
  }
  void load(query& q, index_t slot) const {
    visit(q, [&](const auto& store, auto& own) { store.load(own, slot); });
  }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    visit(q, [&](const auto& store, const auto& own) { store.row(own, begin, end, out); });
  }
  [[nodiscard]] bool searches() const {
    const auto* store = std::get_if<0>(&store_);
    return store != nullptr && can_search(*store);
  }
  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    std::get<0>(store_).search(q.fast, begin, end, offset, best);
  }
  void retire(index_t slot) {
    if (auto* store = std::get_if<0>(&store_)) store->retire(slot);
  }
  [[nodiscard]] bool bounds_costs() const {
    const auto* store = std::get_if<0>(&store_);
    return store != nullptr && can_bound(*store);
  }
  template <class F = Fast, class = bounds_t<F>>
  void bounds(const query& q, index_t begin, index_t end, double* out) const {
    std::get<0>(store_).bounds(q.fast, begin, end, out);
  }
  index_t merge(index_t a, index_t b) {
    return std::visit([&](auto& s) { return s.merge(a, b); }, store_);
  }
  void keep(const std::vector<index_t>& kept) {
    std::visit([&](auto& s) { s.keep(kept); }, store_);
  }

 private:
  using either = std::variant<Fast, Plain>;

  template <class Model>
  [[nodiscard]] static either choose(const Model& model, const table_view& X) {
    if (Fast::takes(model, X)) return either(std::in_place_index<0>, model, X);
    return either(std::in_place_index<1>, model, X);
  }

  template <class Query, class F>
  void visit(Query& q, const F& f) const {
    if (const auto* store = std::get_if<0>(&store_)) {
      f(*store, q.fast);
    } else {
      f(*std::get_if<1>(&store_), q.plain);
    }
  }

  either store_;
};

}  // namespace bhclust::detail
