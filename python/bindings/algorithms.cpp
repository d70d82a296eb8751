#include "bindings.hpp"
#include <bhclust/algorithm/bayes_kmeans.hpp>
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/insert.hpp>
#include <bhclust/algorithm/randomized.hpp>
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/algorithm/relaxed.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bhclust::python {
namespace {

tree greedy(const held_table& table, const held_family& family, double alpha, bool collapse,
            int n_threads, py::object progress) {
  const greedy_options options{alpha, n_threads, progress_of(std::move(progress)), nullptr,
                               collapse};
  const py::gil_scoped_release free;
  return greedy_bhc(table.view, family.over(table.view), options);
}

relaxed_method method_named(const std::string& name) {
  if (name == "auto") return relaxed_method::automatic;
  if (name == "rounds") return relaxed_method::rounds;
  if (name == "nn-chain") return relaxed_method::nn_chain;
  if (name == "greedy") return relaxed_method::greedy;
  throw py::value_error("method is '" + name +
                        "'; it must be 'auto', 'rounds', 'nn-chain' or 'greedy'");
}

tree relaxed(const held_table& table, const held_family& family, double lam, index_t n_clusters,
             const std::string& method, int n_threads, py::object progress) {
  const relaxed_options options{lam, n_clusters, method_named(method), n_threads,
                                progress_of(std::move(progress))};
  const py::gil_scoped_release free;
  return relaxed_bhc(table.view, family.over(table.view), options);
}

using row_array = py::array_t<index_t, py::array::c_style>;

tree bayes_kmeans(const held_table& table, const held_family& family, double alpha, index_t n_seeds,
                  const row_array& seeds, bool merge, index_t exact_rows, std::uint64_t seed,
                  int n_threads, py::object progress) {
  bayes_kmeans_options options;
  options.alpha = alpha;
  options.n_seeds = n_seeds;
  options.seeds.assign(seeds.data(), seeds.data() + seeds.size());
  options.merge = merge;
  options.exact_rows = exact_rows;
  options.seed = seed;
  options.n_threads = n_threads;
  options.progress = progress_of(std::move(progress));
  const py::gil_scoped_release free;
  return bayes_kmeans_bhc(table.view, family.over(table.view), options);
}

py::array_t<index_t> kmeans_groups(const held_table& table, const held_family& family, double alpha,
                                   index_t n_seeds, index_t most, std::uint64_t seed, int n_threads,
                                   py::object progress) {
  bayes_kmeans_options options;
  options.alpha = alpha;
  options.n_seeds = n_seeds;
  options.seed = seed;
  options.n_threads = n_threads;
  options.progress = progress_of(std::move(progress));
  std::vector<index_t> labels;
  {
    const py::gil_scoped_release free;
    labels = bayes_kmeans_groups(table.view, family.over(table.view), most, options);
  }
  return array_from(std::move(labels));
}

tree randomized(const held_table& table, const held_family& family, double alpha, index_t subset,
                std::uint64_t seed, int n_threads, py::object progress) {
  const randomized_options options{alpha, subset, seed, n_threads,
                                   progress_of(std::move(progress))};
  const py::gil_scoped_release free;
  return randomized_bhc(table.view, family.over(table.view), options);
}

tree refined(const tree& t, const held_table& table, const held_family& family, double alpha,
             index_t max_regrafts, bool everywhere, double max_seconds, int n_threads,
             py::object progress) {
  const refine_options options{alpha,       max_regrafts, everywhere,
                               max_seconds, n_threads,    progress_of(std::move(progress))};
  const py::gil_scoped_release free;
  return refine(t, table.view, family.over(table.view), options);
}

tree inserted(const tree& t, const held_table& table, const held_family& family, double alpha,
              bool everywhere, bool rotate, int n_threads, py::object progress) {
  const insert_options options{alpha, everywhere, rotate, n_threads,
                               progress_of(std::move(progress))};
  const py::gil_scoped_release free;
  return insert(t, table.view, family.over(table.view), options);
}

tree forgotten(const tree& t, const row_array& rows) {
  return forget(t, {rows.data(), rows.size()});
}

}  // namespace

void register_algorithms(py::module_& m) {
  define(m, "greedy_bhc", &greedy, py::arg("table"), py::arg("family"), py::arg("alpha"),
         py::arg("collapse"), py::arg("n_threads"), py::arg("progress"));
  define(m, "relaxed_bhc", &relaxed, py::arg("table"), py::arg("family"), py::arg("lam"),
         py::arg("n_clusters"), py::arg("method"), py::arg("n_threads"), py::arg("progress"));
  define(m, "bayes_kmeans_bhc", &bayes_kmeans, py::arg("table"), py::arg("family"),
         py::arg("alpha"), py::arg("n_seeds"), py::arg("seeds"), py::arg("merge"),
         py::arg("exact_rows"), py::arg("seed"), py::arg("n_threads"), py::arg("progress"));
  define(m, "bayes_kmeans_groups", &kmeans_groups, py::arg("table"), py::arg("family"),
         py::arg("alpha"), py::arg("n_seeds"), py::arg("most"), py::arg("seed"),
         py::arg("n_threads"), py::arg("progress"));
  define(m, "randomized_bhc", &randomized, py::arg("table"), py::arg("family"), py::arg("alpha"),
         py::arg("subset"), py::arg("seed"), py::arg("n_threads"), py::arg("progress"));
  define(m, "refine", &refined, py::arg("tree"), py::arg("table"), py::arg("family"),
         py::arg("alpha"), py::arg("max_regrafts"), py::arg("everywhere"), py::arg("max_seconds"),
         py::arg("n_threads"), py::arg("progress"));
  define(m, "insert", &inserted, py::arg("tree"), py::arg("table"), py::arg("family"),
         py::arg("alpha"), py::arg("everywhere"), py::arg("rotate"), py::arg("n_threads"),
         py::arg("progress"));
  define(m, "forget", &forgotten, py::arg("tree"), py::arg("rows"));
}

}  // namespace bhclust::python
