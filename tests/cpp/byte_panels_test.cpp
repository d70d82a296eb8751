// Clusters in bytes: dot products against plain numbers, and that nothing near is lost.
#include "random_source.hpp"
#include <bhclust/detail/byte_panels.hpp>
#include <bhclust/detail/byte_products.hpp>
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

using bhclust::detail::byte_query;

constexpr index_t together = byte_panels::together;
constexpr index_t few = byte_query::together;
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

/// The median cost of a slot's merge with any other.
double median_cost(const bhclust::detail::ward_clusters& clusters, index_t slot) {
  std::vector<double> costs;
  for (index_t s = 0; s < clusters.slots(); ++s) costs.push_back(clusters.cost(slot, s));
  std::nth_element(costs.begin(), costs.begin() + clusters.slots() / 2, costs.end());
  return costs[costs.size() / 2];
}

/// Eight slots, as searches hold them.
struct eight_slots {
  std::vector<double> means, inverse, most;
  std::vector<index_t> slot;

  eight_slots(const bhclust::detail::ward_clusters& clusters, index_t first, double limit)
      : means(static_cast<std::size_t>(together * clusters.columns())), inverse(together) {
    for (index_t i = 0; i < together; ++i) {
      slot.push_back(std::min(first + i, clusters.slots() - 1));
      const double* x = clusters.mean(slot.back());
      for (index_t j = 0; j < clusters.columns(); ++j) {
        means[static_cast<std::size_t>(together * j + i)] = x[j];
      }
      inverse[static_cast<std::size_t>(i)] = 1.0 / clusters.size(slot.back());
      most.push_back(limit * median_cost(clusters, slot.back()));
    }
  }
};

/// What passes in a search of every slot for clusters that cost `limit` times the median or less.
/// Every region sees every query, far away or not.
counts passing(const bhclust::detail::ward_clusters& clusters, const byte_panels& panels,
               double limit) {
  counts found;
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(panels.codes_of_eight()));
  for (index_t first = 0; first < clusters.slots(); first += together) {
    const eight_slots eight(clusters, first, limit);
    byte_panels::queries queries;
    byte_query asked[together] = {};
    for (index_t p = 0; p * width < clusters.slots(); ++p) {
      queries.load(panels, panels.region_of(p), eight.means.data(), eight.inverse.data(), together,
                   codes.data(), asked);
      for (index_t i = 0; i < together; ++i) {
        queries.limit(i, eight.most[static_cast<std::size_t>(i)]);
      }
      std::uint64_t bits[together + few];
      for (index_t i = 0; i < together; i += few) {
        const byte_query* of[few];
        for (index_t k = 0; k < few; ++k) of[k] = &asked[std::min(i + k, together - 1)];
        bhclust::detail::byte_passing(panels.points(p), panels.pairs(), of, bits + i);
      }
      for (index_t i = 0; i < together; ++i) {
        const index_t slot = eight.slot[static_cast<std::size_t>(i)];
        if (!clusters.occupied(slot)) continue;
        const double most = eight.most[static_cast<std::size_t>(i)];
        const bool all = (queries.take_all() >> i & 1U) != 0;
        for (index_t s = p * width; s < std::min(clusters.slots(), (p + 1) * width); ++s) {
          const bool passes = all || (bits[i] >> (s % width) & 1U) != 0;
          const bool near = clusters.occupied(s) && clusters.cost(slot, s) <= most;
          found.passed += passes ? 1 : 0;
          found.near += near ? 1 : 0;
          found.lost += near && !passes ? 1 : 0;
          if (!clusters.occupied(s)) CHECK((all || !passes));
        }
      }
    }
  }
  return found;
}

/// Whether a point of 48 passes, by plain numbers.
bool passes(const bhclust::detail::byte_points& points, index_t pairs, const byte_query& query,
            index_t i) {
  std::int64_t sum = 0;
  for (index_t j = 0; j < 2 * pairs; ++j) {
    const std::uint32_t word = query.codes[byte_query::stride * (j / 2)];
    const auto code = static_cast<std::int8_t>(word >> (8 * (j % 2)) & 255U);
    sum += points.codes[j / 2 * 2 * width + 2 * i + j % 2] * code;
  }
  const auto is = static_cast<std::int16_t>((sum - points.half[i] - query.shift) & 0xFFFF);
  const int least = query.level - points.share[i] * query.slope / 65536;
  return is >= std::max(least, -32768);
}

}  // namespace

TEST_CASE("bytes: which points pass is as plain numbers have it") {
  random_source random(1);
  const auto sixteen = [&] { return static_cast<std::int16_t>(random.below(65536) - 32768); };
  const auto without_sign = [&] { return static_cast<std::uint16_t>(random.below(65536)); };
  const auto positive = [&] { return static_cast<std::int16_t>(random.below(32768)); };
  const auto byte = [&] { return static_cast<std::uint32_t>(random.below(181) - 90) & 255U; };
  for (const index_t pairs : {1, 2, 7, 64}) {
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(pairs * 2 * width));
    for (auto& x : codes) x = static_cast<std::uint8_t>(random.below(181));
    std::vector<std::int16_t> half;
    std::vector<std::int16_t> share;
    for (index_t i = 0; i < width; ++i) {
      half.push_back(sixteen());
      share.push_back(positive());
    }
    const bhclust::detail::byte_points points{codes.data(), half.data(), share.data()};
    std::vector<std::uint32_t> words;
    for (index_t k = 0; k < byte_query::stride * pairs; ++k) {
      words.push_back((byte() | byte() << 8U) * 0x10001U);
    }
    for (int round = 0; round < 20; ++round) {
      std::vector<byte_query> queries;
      const byte_query* asked[few];
      for (index_t q = 0; q < few; ++q) {
        queries.push_back({words.data() + q, without_sign(), without_sign(), sixteen()});
      }
      for (index_t q = 0; q < few; ++q) asked[q] = queries.data() + q;
      std::uint64_t bits[few];
      bhclust::detail::byte_passing(points, pairs, asked, bits);
      for (index_t q = 0; q < few; ++q) {
        CHECK((bits[q] >> 48U) == 0);
        for (index_t i = 0; i < width; ++i) {
          CHECK(((bits[q] >> i & 1U) != 0) == passes(points, pairs, *asked[q], i));
        }
      }
    }
  }
}

TEST_CASE("bytes: rows of bits are turned into columns") {
  random_source random(2);
  for (int round = 0; round < 50; ++round) {
    std::uint64_t x = 0;
    for (int k = 0; k < 8; ++k) x = x << 8U | static_cast<std::uint64_t>(random.below(256));
    const std::uint64_t turned = bhclust::detail::transposed_bits(x);
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned j = 0; j < 8; ++j) {
        CHECK((turned >> (8 * j + i) & 1U) == (x >> (8 * i + j) & 1U));
      }
    }
  }
}

TEST_CASE("bytes: what is near passes, and little else where bytes hold the points") {
  bhclust::detail::thread_team team(2);
  bhclust::detail::progress_meter progress({}, 1);
  for (const index_t d : {4, 9, 64, 300}) {
    for (const double scale : {1.0, 1e-9}) {
      for (const double far : {1.0, 3.0, 1e9}) {
        for (const index_t largest : {1, 9}) {
          CAPTURE(d);
          CAPTURE(far);
          CAPTURE(largest);
          auto clusters = some_clusters(300, d, scale, far, largest);
          if (largest > 1) {
            // some here and there, and a whole region
            for (index_t s = 3; s < 300; s += 7) clusters.vacate(s);
            for (index_t s = width; s < 4 * width; ++s) {
              if (clusters.occupied(s)) clusters.vacate(s);
            }
          }
          byte_panels panels(clusters);
          for (const bool one : {true, false}) {
            panels.rebuild(one ? std::vector<index_t>{0} : std::vector<index_t>{0, 1, 4}, team,
                           progress);
            for (const double limit : {0.0, 0.3, 0.7, 1.3}) {
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

TEST_CASE("bytes: points that rounding moves too far always pass") {
  constexpr index_t d = 64;
  bhclust::detail::thread_team team(1);
  bhclust::detail::progress_meter progress({}, 1);
  random_source random(3);
  for (const double unit : {1.0, 0.125, 8.0}) {
    bhclust::detail::ward_clusters clusters(d);
    for (bhclust::detail::ward_id i = 0; i < 300; ++i) {
      // halfway between codes, about an origin that is the first of each panel
      std::vector<double> mean(d, 0.0);
      if (i % width != 0) {
        for (double& x : mean) x = unit * (static_cast<double>(random.below(9)) - 3.5);
        mean[0] = unit * (random.chance(0.5) ? 89.0 : -89.0);
      }
      clusters.append(mean.data(), 1.0, i);
    }
    byte_panels panels(clusters);
    panels.rebuild({0}, team, progress);
    index_t too_far = 0;
    for (index_t s = 0; s < 300; ++s) too_far += panels.points(s / width).half[s % width] == -32767;
    CHECK(too_far > 250);
    for (const double limit : {0.1, 0.5, 1.0}) CHECK(passing(clusters, panels, limit).lost == 0);
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
