// Searches of up to 64 clusters at a time against costs with every other cluster.
#include "random_source.hpp"
#include <bhclust/detail/kd_panels.hpp>
#include <bhclust/detail/nearest_lists.hpp>
#include <bhclust/detail/panel_search.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/ward_clusters.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

using bhclust::index_t;
using bhclust::detail::kd_panels;
using bhclust::detail::panel_search;
using bhclust::detail::search_depth;
using bhclust::detail::short_list;
using bhclust::detail::ward_clusters;
using bhclust::detail::ward_id;
using bhclust::detail::ward_neighbour;
using testkit::random_source;

namespace {

constexpr index_t panel = kd_panels<ward_clusters>::width;
constexpr index_t length = 4;

ward_clusters some_clusters(index_t n, index_t d) {
  random_source random(9);
  ward_clusters clusters(d);
  std::vector<double> mean(static_cast<std::size_t>(d));
  for (index_t i = 0; i < n; ++i) {
    for (double& x : mean) x = random.normal();
    mean[0] += static_cast<double>(i) / 50.0;  // slots that follow each other are neighbours
    clusters.append(mean.data(), static_cast<double>(1 + random.below(4)), static_cast<ward_id>(i));
  }
  return clusters;
}

std::vector<ward_neighbour> nearest(const ward_clusters& clusters, index_t slot) {
  std::vector<ward_neighbour> all;
  for (index_t s = 0; s < clusters.slots(); ++s) {
    if (s != slot) all.push_back({clusters.cost(slot, s), clusters.node(s)});
  }
  std::sort(all.begin(), all.end());
  all.resize(static_cast<std::size_t>(length));
  return all;
}

/// The last `some` slots of panel 2 and the first `more` of panel 3.
void check(const ward_clusters& clusters, panel_search<ward_clusters>& search, search_depth depth,
           index_t some, index_t more) {
  search.clear();
  const index_t middle = 3 * panel;
  for (index_t s = middle - some; s < middle + more; ++s) {
    search.add(s, short_list(length, std::numeric_limits<double>::infinity()));
  }
  REQUIRE(search.size() == some + more);
  static_cast<void>(search.run(depth));
  for (index_t i = 0; i < search.size(); ++i) {
    const auto wanted = nearest(clusters, search.slot(i));
    const auto& found = search.found(i);
    REQUIRE(found.size() == length);
    for (index_t k = 0; k < length; ++k) {
      CHECK(found[k].node == wanted[static_cast<std::size_t>(k)].node);
      CHECK(found[k].cost == wanted[static_cast<std::size_t>(k)].cost);
    }
  }
}

}  // namespace

TEST_CASE("panel search: the nearest of all, for any number of queries that there is room for") {
  bhclust::detail::thread_team team(1);
  bhclust::detail::progress_meter progress({}, 1);
  for (const index_t d : {2, 10}) {
    const ward_clusters clusters = some_clusters(20 * panel + 7, d);
    kd_panels<ward_clusters> index(clusters);
    index.rebuild(team, progress);
    panel_search<ward_clusters> search(index);
    for (const bool bytes : {false, true}) {
      index.use_bytes(bytes, false, team, progress);
      for (const auto depth : {search_depth::panels, search_depth::leaves, search_depth::none}) {
        for (const index_t some : {0, 1, 8, 16}) {
          for (const index_t more : {1, 40, 41, 48}) check(clusters, search, depth, some, more);
        }
      }
    }
  }
}
