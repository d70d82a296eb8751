/// @file
/// Evidence of clusters of complete series, eight at a time.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/normal_known_variance_kernel.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <vector>

namespace bhclust::detail {

/// Series are counted from the table's middle and turned once into the eigenbasis of the kernel;
/// there their clusters are those of NormalKnownVariance with the eigenvalues as prior variances,
/// and a score is O(d).
template <class Model>
class gaussian_process_kernel {
  using turned = normal_known_variance_kernel<normal_known_variance_model>;

 public:
  using query = turned::query;

  gaussian_process_kernel(const Model& model, const table_view& X)
      : turn_(model, middle_of(X)), kernel_(turn_.model(model), turn_(X).view()) {}

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    for (index_t i = 0; i < X.rows(); ++i) {
      for (index_t j = 0; j < X.columns(); ++j) {
        if (is_missing(X.row(i).value(j))) return false;
      }
    }
    const rotation turn(model, middle_of(X));
    return turned::takes(turn.model(model), turn(X).view());
  }

  [[nodiscard]] index_t row_fields() const noexcept { return kernel_.row_fields(); }
  [[nodiscard]] index_t cluster_fields() const noexcept { return kernel_.cluster_fields(); }
  [[nodiscard]] static index_t scratch() noexcept { return turned::scratch(); }

  void encode(const row_view& row, double* y) const {
    std::vector<double> z(static_cast<std::size_t>(row.columns()));
    turn_(row, z.data());
    kernel_.encode(row_view(z.data(), row.columns()), y);
  }
  void lift(const double* row, double* cluster) const noexcept { kernel_.lift(row, cluster); }
  void merge(const double* a, const double* b, double* made) const noexcept {
    kernel_.merge(a, b, made);
  }
  void load(query& q, const double* cluster) const { kernel_.load(q, cluster); }
  [[nodiscard]] lanes rows(const query& q, const double* block, double* scratch) const {
    return kernel_.rows(q, block, scratch);
  }
  [[nodiscard]] lanes clusters(const query& q, const double* block, double* scratch) const {
    return kernel_.clusters(q, block, scratch);
  }

 private:
  /// A dense table in the eigenbasis.
  struct turned_table {
    std::vector<double> cells;
    index_t columns;
    [[nodiscard]] table_view view() const {
      return bhclust::rows(cells.data(), static_cast<index_t>(cells.size()) / columns, columns);
    }
  };

  class rotation {
   public:
    rotation(const Model& model, std::vector<double> middle)
        : middle_(std::move(middle)), axes_(model.prior().axes.begin(), model.prior().axes.end()) {}

    void operator()(const row_view& row, double* z) const {
      std::vector<double> y(middle_.size());
      for (std::size_t j = 0; j < y.size(); ++j) {
        y[j] = row.value(static_cast<index_t>(j)) - middle_[j];
      }
      turn(y, z);
    }

    [[nodiscard]] turned_table operator()(const table_view& X) const {
      turned_table made{std::vector<double>(static_cast<std::size_t>(X.rows() * X.columns())),
                        X.columns()};
      for (index_t i = 0; i < X.rows(); ++i) (*this)(X.row(i), made.cells.data() + i * X.columns());
      return made;
    }

    [[nodiscard]] normal_known_variance_model model(const Model& model) const {
      const index_t d = model.columns();
      std::vector<double> y(middle_.size()), mean(middle_.size());
      for (index_t j = 0; j < d; ++j) {
        const auto at = static_cast<std::size_t>(j);
        y[at] = model.column(j).mean - middle_[at];
      }
      turn(y, mean.data());
      std::vector<normal_known_variance_column> columns;
      for (index_t j = 0; j < d; ++j) {
        const auto at = static_cast<std::size_t>(j);
        columns.emplace_back(model.noise(), mean[at], model.prior().spread[at]);
      }
      normal_known_variance_model turned_model(std::move(columns));
      return turned_model;
    }

   private:
    void turn(const std::vector<double>& y, double* z) const noexcept {
      const auto d = static_cast<index_t>(y.size());
      for (index_t j = 0; j < d; ++j) z[j] = dot(axes_.data() + j * d, y.data(), d);
    }

    std::vector<double> middle_;
    std::vector<double> axes_;
  };

  rotation turn_;
  turned kernel_;
};

}  // namespace bhclust::detail
