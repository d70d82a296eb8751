/// @file
/// What an algorithm did, in numbers that do not depend on the machine.
#pragma once

#include <bhclust/types.hpp>

namespace bhclust {

/// The work of an agglomeration: the same wherever and with how many threads it runs.
struct work_counts {
  index_t searches = 0;        ///< for the best partner of a cluster
  index_t pairs_scored = 0;    ///< those that the searches ranged over; bounds may decide some
  index_t pairs_rescored = 0;  ///< of these, those of clusters whose former partner had died
};

}  // namespace bhclust
