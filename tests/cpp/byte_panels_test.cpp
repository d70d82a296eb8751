// Clusters in bytes: dot products against plain numbers, and that nothing near is lost.
#include "random_source.hpp"
#include <bhclust/detail/byte_panels.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/ward_clusters.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using bhclust::index_t;
using testkit::random_source;

namespace {

using byte_panels = bhclust::detail::byte_panels<bhclust::detail::ward_clusters>;

constexpr index_t together = byte_panels::together;
constexpr index_t width = byte_panels::width;

/// Clusters of sizes up to `largest` about the origin; every 50th lies far away.
bhclust::detail::ward_clusters some_clusters(index_t n, index_t d, double scale, double far,
                                             index_t largest) {
  random_source random(4);
  bhclust::detail::ward_clusters clusters(d);
  std::vector<double> mean(static_cast<std::size_t>(d));
  for (index_t i = 0; i < n; ++i) {
    for (double& x : mean) x = scale * random.normal() * (i % 50 == 7 ? far : 1.0);
    clusters.append(mean.data(), static_cast<double>(1 + random.below(largest)),
                    static_cast<bhclust::detail::ward_id>(i));
  }
  return clusters;
}

struct counts {
  index_t passed = 0, near = 0, lost = 0;
};

/// What passes in a search of every slot for clusters that cost `limit` times the median or less.
/// Every region sees every query, far away or not.
counts passing(const bhclust::detail::ward_clusters& clusters, const byte_panels& panels,
               double limit) {
  counts found;
  std::vector<std::int8_t> codes(static_cast<std::size_t>(panels.bytes_a_query()));
  for (index_t i = 0; i < clusters.slots(); ++i) {
    if (!clusters.occupied(i)) continue;
    std::vector<double> costs;
    for (index_t s = 0; s < clusters.slots(); ++s) costs.push_back(clusters.cost(i, s));
    auto ordered = costs;
    std::nth_element(ordered.begin(), ordered.begin() + clusters.slots() / 2, ordered.end());
    const double most = limit * ordered[ordered.size() / 2];
    byte_panels::query query;
    const std::int8_t* four[together] = {codes.data(), codes.data(), codes.data(), codes.data()};
    for (index_t p = 0; p * width < clusters.slots(); ++p) {
      query.load(panels, panels.region_of(p), i, codes.data());
      query.limit(most);
      std::uint16_t products[together * width];
      panels.multiply(p, four, products);
      const std::uint64_t bits = query.passing(panels, p, products);
      for (index_t s = p * width; s < std::min(clusters.slots(), (p + 1) * width); ++s) {
        const bool passes = query.takes_all() || (bits >> (s % width) & 1U) != 0;
        const bool near = clusters.occupied(s) && costs[static_cast<std::size_t>(s)] <= most;
        found.passed += passes ? 1 : 0;
        found.near += near ? 1 : 0;
        found.lost += near && !passes ? 1 : 0;
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("bytes: dot products and their test are those of plain numbers") {
  random_source random(1);
  for (const index_t pairs : {1, 2, 7, 64}) {
    std::vector<std::uint8_t> points(static_cast<std::size_t>(pairs * 2 * width));
    for (auto& x : points) x = static_cast<std::uint8_t>(random.below(181));
    std::vector<std::vector<std::int8_t>> codes(static_cast<std::size_t>(together));
    const std::int8_t* of[together];
    for (std::size_t q = 0; q < codes.size(); ++q) {
      for (index_t p = 0; p < pairs; ++p) {
        const auto a = static_cast<std::int8_t>(random.below(181) - 90);
        const auto b = static_cast<std::int8_t>(random.below(181) - 90);
        codes[q].insert(codes[q].end(), {a, b, a, b});
      }
      of[q] = codes[q].data();
    }
    std::uint16_t products[together * width];
    bhclust::detail::byte_products(points.data(), of, pairs, products);
    for (index_t q = 0; q < together; ++q) {
      std::int16_t half[width];
      std::int16_t share[width];
      for (index_t i = 0; i < width; ++i) {
        std::int64_t sum = 0;
        for (index_t j = 0; j < 2 * pairs; ++j) {
          sum += points[static_cast<std::size_t>(j / 2 * 2 * width + 2 * i + j % 2)] *
                 of[q][j / 2 * 4 + j % 2];
        }
        CHECK(products[q * width + i] == static_cast<std::uint16_t>(sum & 0xFFFF));
        half[i] = static_cast<std::int16_t>(random.below(65536) - 32768);
        share[i] = static_cast<std::int16_t>(random.below(32768));
      }
      for (int round = 0; round < 20; ++round) {
        const auto shift = static_cast<std::uint16_t>(random.below(65536));
        const auto base = static_cast<std::int16_t>(random.below(65536) - 32768);
        const auto slope = static_cast<std::int16_t>(random.below(32768));
        const auto bits = bhclust::detail::products_at_least(products + q * width, shift, half,
                                                             share, base, slope);
        CHECK((bits >> 48U) == 0);
        for (index_t i = 0; i < width; ++i) {
          const auto limited = [](int x) { return std::clamp(x, -32768, 32767); };
          const int least = limited(limited(half[i] + base) - share[i] * slope / 65536);
          const auto is = static_cast<std::int16_t>(
              static_cast<std::uint16_t>(products[q * width + i] - shift));
          const bool passes = (bits >> i & 1U) != 0;
          CHECK(passes == (is >= least));
        }
      }
    }
  }
}

TEST_CASE("bytes: what is near passes, and little else where bytes hold the points") {
  bhclust::detail::thread_team team(1);
  bhclust::detail::progress_meter progress({}, 1);
  for (const index_t d : {4, 9, 64, 300}) {
    for (const double scale : {1.0, 1e-9}) {
      for (const double far : {1.0, 3.0, 1e9}) {
        for (const index_t largest : {1, 9}) {
          CAPTURE(d);
          CAPTURE(far);
          CAPTURE(largest);
          const auto clusters = some_clusters(300, d, scale, far, largest);
          byte_panels panels(clusters);
          for (const bool one : {true, false}) {
            panels.rebuild(one ? std::vector<index_t>{0} : std::vector<index_t>{0, 1, 4}, team,
                           progress);
            for (const double limit : {0.0, 0.3, 0.7}) {
              const auto found = passing(clusters, panels, limit);
              CHECK(found.lost == 0);
              if (d >= 64 && largest == 1) CHECK(found.passed < found.near + 90000 / 8);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("bytes: points that are all equal, and slots that are empty") {
  bhclust::detail::thread_team team(1);
  bhclust::detail::progress_meter progress({}, 1);
  bhclust::detail::ward_clusters clusters(5);
  const std::vector<double> mean(5, 0.25);
  for (bhclust::detail::ward_id i = 0; i < 100; ++i) clusters.append(mean.data(), 1.0, i);
  for (index_t s = 0; s < 100; s += 3) clusters.vacate(s);
  byte_panels panels(clusters);
  panels.rebuild({0}, team, progress);
  CHECK(passing(clusters, panels, 1.0).lost == 0);
}
