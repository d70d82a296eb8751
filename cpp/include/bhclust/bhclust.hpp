/// @file
/// The whole library.
#pragma once

#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/analysis/linkage.hpp>
#include <bhclust/analysis/newick.hpp>
#include <bhclust/analysis/purity.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/cluster_count.hpp>
#include <bhclust/inference/coclustering.hpp>
#include <bhclust/inference/curve.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/explanation.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/imputation.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/inference/row_samples.hpp>
#include <bhclust/inference/samples.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>
#include <bhclust/version.hpp>
