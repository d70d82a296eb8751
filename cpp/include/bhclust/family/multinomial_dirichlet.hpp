/// @file
/// Rows of counts given their totals: multinomial with probabilities ~ Dirichlet(a_1, …, a_d).
#pragma once

#include <bhclust/detail/beta.hpp>
#include <bhclust/detail/bregman.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/shared_columns_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/detail/store_or.hpp>
#include <bhclust/detail/table_with_totals.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/progress.hpp>

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// One factor of the Dirichlet-multinomial: ± [ln Γ(a + m) - ln Γ(a) - Σ_rows ln Γ(x + 1)].
/// Statistics: m = Σx, Σ ln Γ(x + 1).
struct dirichlet_column {
  double a, sign;
  function_table gamma{}, entropy{};

  static constexpr bool totalled = true;

  [[nodiscard]] static index_t width() noexcept { return 2; }

  void tabulate(function_tables& tables) {
    gamma = tables.gamma_ratio(a);
    entropy = tables.count_log_count();
  }

  static void observe(double x, double* t) noexcept {
    t[0] += x;
    t[1] += log_gamma(x + 1.0);
  }

  [[nodiscard]] static bool possible(const double* t, index_t /*rows*/) noexcept {
    return is_count(t[0], infinity);
  }

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    return sign * ((gamma.covers(t[0]) ? gamma(t[0]) : computed(t[0])) - t[1]);
  }

  /// m ln m.
  [[nodiscard]] double count_log(double m) const noexcept { return entropy.at(m, count_log_count); }

 private:
  /// Out of line, so that look-ups are inlined.
  [[nodiscard, gnu::noinline]] double computed(double m) const noexcept {
    return log_gamma_ratio(a, m);
  }
};

/// The columns' shares of the table's counts, half a count added to each column.
[[nodiscard]] inline std::vector<double> column_shares(const table_view& X) {
  std::vector<double> shares(static_cast<std::size_t>(X.columns()), 0.5);
  double total = 0.5 * static_cast<double>(X.columns());
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    pace(4 * row.stored());
    for (index_t k = 0; k < row.stored(); ++k) {
      shares[static_cast<std::size_t>(row.column(k))] += row.value(k);
      total += row.value(k);
    }
  }
  for (auto& share : shares) share /= total;
  return shares;
}

/// The total A of the concentrations by moments, see MultinomialDirichlet::from_data. O(cells).
[[nodiscard]] inline double dirichlet_total(const table_view& X,
                                            const std::vector<double>& shares) {
  const auto d = static_cast<double>(X.columns());
  if (d == 1.0) return 1.0;
  double straying = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    pace(4 * row.stored());
    double total = 0.0;
    double chi = 0.0;
    for (index_t k = 0; k < row.stored(); ++k) {
      const double x = row.value(k);
      total += x;
      chi += x * (x / shares[static_cast<std::size_t>(row.column(k))]);
    }
    straying += chi - total * total;
    sum += total;
    squares += total * total;
  }
  const double typical = sum / static_cast<double>(X.rows());
  const double five_rows = 5.0 * typical * typical;
  const double excess = straying / (d - 1.0) - sum + five_rows / (1.0 + d);
  const double possible = squares - sum + five_rows;
  const double total = possible / excess - 1.0;
  if (!(excess > 0.0) || !(total < 10.0 * d)) return possible > 0.0 ? 10.0 * d : d;
  return total > 0.01 * d ? total : 0.01 * d;
}

template <class Model>
class multinomial_evidence_store;

/// The Dirichlet-multinomial as d + 1 one-column models: the counts, and the totals with A = Σa and
/// the opposite sign. So the fast scores of independent columns serve here as well.
class multinomial_model {
 public:
  template <class Score>
  using store =
      std::conditional_t<Score::kind == score_kind::evidence,
                         multinomial_evidence_store<multinomial_model>,
                         store_of_screen<multinomial_model, root_screen<multinomial_model>, Score,
                                         cluster_store<multinomial_model, Score>>>;

  explicit multinomial_model(const std::vector<double>& concentration)
      : columns_(static_cast<index_t>(concentration.size())), factors_(factors(concentration)) {}

  /// The d + 1 one-column models.
  [[nodiscard]] const independent<dirichlet_column>& augmented() const noexcept { return factors_; }
  [[nodiscard]] index_t width() const noexcept { return factors_.width(); }

  /// Zeros add nothing.
  void observe(const row_view& row, double* t) const {
    double total = 0.0;
    for (index_t k = 0; k < row.stored(); ++k) {
      const double x = row.value(k);
      if (x == 0.0) continue;
      total += x;
      dirichlet_column::observe(x, t + 2 * row.column(k));
    }
    dirichlet_column::observe(total, t + 2 * columns_);
  }

  [[nodiscard]] double log_marginal(const double* t) const { return factors_.log_marginal(t); }

  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    return factors_.possible(t, rows);
  }

  void prepare(index_t rows) { factors_.prepare(rows); }

  [[nodiscard]] index_t gradient_size() const noexcept { return columns_; }

  void add_gradient(const double* t, double weight, double* g) const noexcept {
    const double all = digamma_ratio(factors_.column(columns_).a, t[2 * columns_]);
    for (index_t j = 0; j < columns_; ++j) {
      g[j] += weight * (digamma_ratio(factors_.column(j).a, t[2 * j]) - all);
    }
  }

  /// Of a row with a total of 1: the columns' shares.
  void predictive_mean(const double* t, double* out) const noexcept {
    const double all = factors_.column(columns_).a + t[2 * columns_];
    for (index_t j = 0; j < columns_; ++j) out[j] = (factors_.column(j).a + t[2 * j]) / all;
  }

  /// With the total that the row has. A column's share of what the columns before it leave is a
  /// Beta, independent of theirs.
  void sample(const double* t, random_source& random, double* row) const {
    double left = 0.0;
    for (index_t j = 0; j < columns_; ++j) left += row[j];
    std::vector<double> after(static_cast<std::size_t>(columns_) + 1, 0.0);
    for (index_t j = columns_ - 1; j >= 0; --j) {
      const auto at = static_cast<std::size_t>(j);
      after[at] = after[at + 1] + (factors_.column(j).a + t[2 * j]);
    }
    for (index_t j = 0; j + 1 < columns_; ++j) {
      row[j] = 0.0;
      if (left == 0.0) continue;
      const double own = factors_.column(j).a + t[2 * j];
      const share s = draw_beta(random, own, after[static_cast<std::size_t>(j) + 1]);
      row[j] = draw_binomial(random, left, s.p);
      left -= row[j];
    }
    row[columns_ - 1] = left;
  }

  /// Chain rule: of each column its share of what the columns before it in the order leave, a Beta;
  /// the last one, which has no choice, adds nothing. What depends on the rows' totals alone is
  /// borne by all alike.
  void column_terms(const double* t, const index_t* order, double* out) const {
    const double of_rows = t[2 * columns_ + 1] / static_cast<double>(columns_);
    double prior_after = 0.0;
    double after = 0.0;
    for (index_t i = columns_ - 1; i >= 0; --i) {
      const index_t j = order == nullptr ? i : order[i];
      const double a = factors_.column(j).a;
      const double m = t[2 * j];
      const double term = prior_after > 0.0 ? log_beta_ratio(a, prior_after, m, after) : 0.0;
      out[j] = term + (of_rows - t[2 * j + 1]);
      prior_after += a;
      after += m;
    }
  }

  [[nodiscard]] double potential(const double* t) const noexcept {
    return count_potential(t, columns_, 2, t[2 * columns_]);
  }

  /// The columns' shares, weighted by the cluster's total.
  [[nodiscard]] index_t smoothed_means_size() const noexcept { return columns_; }
  double smoothed_means(const double* t, double* u) const noexcept {
    const double total = t[2 * columns_];
    smoothed_shares(t, columns_, 2, total, u);
    return total;
  }

  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    return count_divergence(t, s, columns_, 2, t[2 * columns_], s[2 * columns_]);
  }

 private:
  [[nodiscard]] static independent<dirichlet_column> factors(
      const std::vector<double>& concentration) {
    std::vector<dirichlet_column> all;
    double sum = 0.0;
    for (const double a : concentration) {
      all.push_back({a, 1.0});
      sum += a;
    }
    all.push_back({sum, -1.0});
    return independent<dirichlet_column>(std::move(all));
  }

  index_t columns_;
  independent<dirichlet_column> factors_;
};

/// The stores over the table with totals.
template <class Model>
class multinomial_evidence_store
    : public store_or<shared_columns_store<independent<dirichlet_column>>,
                      independent_store<dirichlet_column, evidence_score>, true> {
 public:
  multinomial_evidence_store(const Model& model, const table_view& X)
      : multinomial_evidence_store::store_or(model.augmented(), table_with_totals(X).view()) {}
};

}  // namespace detail

/// Counts with a Dirichlet prior on the row's probabilities.
struct MultinomialDirichlet {
  parameter concentration = 1.0;

  static constexpr const char* doc =
      "Rows of counts (words in documents, reads in samples) given their totals: multinomial with "
      "a "
      "Dirichlet(concentration) prior on the probabilities of the columns. Dense or CSR tables; "
      "rows "
      "of zeros carry no information and are taken.";

  [[nodiscard]] static const char* name() { return "MultinomialDirichlet"; }
  [[nodiscard]] static domain takes() { return {cell::count, false, true}; }
  [[nodiscard]] static std::array<parameter_field<MultinomialDirichlet>, 1> parameters() {
    return {{{"concentration", &MultinomialDirichlet::concentration, range::positive,
              shape::per_column, "prior number of counts seen in each column"}}};
  }

  /// The columns' shares of all counts (half a count added to each) times the total A that explains
  /// how far rows stray from those shares beyond multinomial chance: with M_i counts in row i,
  /// E Σ_k (x_ik - M_i p_k)² / p_k = (d - 1) M_i (1 + (M_i - 1) / (1 + A)). Five rows of typical
  /// total are added that stray as for A = d, and A is kept between d / 100 and 10 d.
  [[nodiscard]] static MultinomialDirichlet from_data(const table_view& X) {
    check_table(X, takes(), name());
    auto shares = detail::column_shares(X);
    const double total = detail::dirichlet_total(X, shares);
    for (auto& share : shares) share *= total;
    return {std::move(shares)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<double> a;
    for (index_t k = 0; k < columns; ++k) a.push_back(concentration[k]);
    return detail::multinomial_model(a);
  }
};

}  // namespace bhclust
