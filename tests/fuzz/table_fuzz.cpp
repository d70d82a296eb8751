// Any cells under any family, dense or sparse: refused with a reason, or a tree, its posterior and
// its bound without a NaN.
#include "fuzz.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <type_traits>

namespace {

using bhclust::any_family;
using bhclust::index_t;
using bhclust::table_view;

/// The family of a number, with the hyperparameters that the table suggests or the plain ones.
any_family family_of(index_t number, const table_view& X, bool suggested) {
  any_family found = bhclust::BernoulliBeta{};
  index_t at = 0;
  bhclust::for_each_family([&](auto tag) {
    using Family = typename decltype(tag)::type;
    if (at++ == number) found = suggested ? Family::from_data(X) : Family{};
  });
  return found;
}

void check_numbers(const std::vector<double>& values, const char* what) {
  for (const double x : values) fuzz::promise(!std::isnan(x), what);
}

void cluster(const table_view& X, const any_family& family) {
  const auto t = bhclust::greedy_bhc(X, family, {1.0, 1});
  fuzz::check_tree(t);
  fuzz::promise(t.merges() == t.leaves() - 1, "greedy BHC ends in one tree");
  check_numbers(t.cost(), "costs are numbers");
  const auto p = bhclust::posterior(t, X, family, {1.0, {}, 1});
  check_numbers(p.log_marginal, "log marginal likelihoods are numbers");
  check_numbers(p.log_odds, "log odds are numbers");
  fuzz::promise(std::isfinite(p.log_evidence_bound), "the bound is finite");
  for (const double x : p.height) fuzz::promise(x >= 0.0 && x <= 1.0, "heights are probabilities");
}

struct sparse_cells {
  std::vector<double> values;
  std::vector<index_t> indices, indptr{0};
};

/// Column ids are the input's own, ascending or not.
sparse_cells read_sparse(fuzz::input& in, index_t rows, index_t columns) {
  sparse_cells found;
  for (index_t i = 0; i < rows; ++i) {
    for (index_t stored = in.byte() % (columns + 1); stored > 0; --stored) {
      found.indices.push_back(in.integer());
      found.values.push_back(in.real());
    }
    found.indptr.push_back(static_cast<index_t>(found.values.size()));
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const index_t number = in.byte() % 12;
  const std::uint8_t options = in.byte();
  const index_t rows = in.byte() % 13;
  const index_t columns = in.byte() % 7;
  const bool sparse = (options & 1U) != 0;
  const auto cells = sparse ? sparse_cells{} : sparse_cells{in.reals(rows * columns), {}, {0}};
  const auto stored = sparse ? read_sparse(in, rows, columns) : sparse_cells{};
  const table_view X = sparse ? bhclust::sparse_rows(stored.values.data(), stored.indices.data(),
                                                     stored.indptr.data(), rows, columns)
                              : bhclust::rows(cells.values.data(), rows, columns);
  fuzz::may_refuse([&] { cluster(X, family_of(number, X, (options & 2U) != 0)); });
  return 0;
}
