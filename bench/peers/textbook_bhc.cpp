/// @file
/// Greedy BHC as a textbook has it, for bench/compare.py to time against: sufficient statistics a
/// cluster, one log marginal likelihood by std::lgamma for every pair that is scored, and a heap of
/// all pairs from which pairs of merged clusters are dropped when they come up. Right, and written
/// for the reader; O(n² log n) time and O(n²) memory.
#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using vector = Eigen::VectorXd;
using matrix = Eigen::MatrixXd;
using rows =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

const double log_pi = std::log(3.14159265358979323846);
const double log_two_pi = std::log(2.0) + log_pi;

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

struct sums {
  double n = 0.0;
  vector sum;
};

/// What families of counts share: rows, and their sum.
struct of_sums {
  using statistics = sums;
  [[nodiscard]] static statistics observe(const vector& x) { return {1.0, x}; }
  [[nodiscard]] static statistics join(const statistics& s, const statistics& t) {
    return {s.n + t.n, s.sum + t.sum};
  }
};

/// Prior: d values of a, d of b.
struct bernoulli : of_sums {
  vector a, b;

  bernoulli(const double* prior, Eigen::Index d)
      : a(Eigen::Map<const vector>(prior, d)), b(Eigen::Map<const vector>(prior + d, d)) {}
  [[nodiscard]] double log_marginal(const statistics& s) const {
    double total = 0.0;
    for (Eigen::Index j = 0; j < s.sum.size(); ++j) {
      total += log_beta(a[j] + s.sum[j], b[j] + s.n - s.sum[j]) - log_beta(a[j], b[j]);
    }
    return total;
  }
};

/// Prior: d shapes, d rates. The term of x! depends on the rows alone and leaves all merges as they
/// are.
struct poisson : of_sums {
  vector a, b;

  poisson(const double* prior, Eigen::Index d)
      : a(Eigen::Map<const vector>(prior, d)), b(Eigen::Map<const vector>(prior + d, d)) {}
  [[nodiscard]] double log_marginal(const statistics& s) const {
    double total = 0.0;
    for (Eigen::Index j = 0; j < s.sum.size(); ++j) {
      const double shape = a[j] + s.sum[j];
      total += std::lgamma(shape) - std::lgamma(a[j]) + a[j] * std::log(b[j]) -
               shape * std::log(b[j] + s.n);
    }
    return total;
  }
};

/// Prior: d concentrations. Multinomial coefficients depend on the rows alone, as above.
struct multinomial : of_sums {
  vector a;

  multinomial(const double* prior, Eigen::Index d) : a(Eigen::Map<const vector>(prior, d)) {}
  [[nodiscard]] double log_marginal(const statistics& s) const {
    double total = std::lgamma(a.sum()) - std::lgamma(a.sum() + s.sum.sum());
    for (Eigen::Index j = 0; j < s.sum.size(); ++j) {
      total += std::lgamma(a[j] + s.sum[j]) - std::lgamma(a[j]);
    }
    return total;
  }
};

/// Prior: kappa, a, then d means, then d values of b.
struct normal_inverse_gamma {
  struct statistics {
    double n;
    vector mean, scatter;
  };
  double kappa, a;
  vector mean, b;

  normal_inverse_gamma(const double* prior, Eigen::Index d)
      : kappa(prior[0]),
        a(prior[1]),
        mean(Eigen::Map<const vector>(prior + 2, d)),
        b(Eigen::Map<const vector>(prior + 2 + d, d)) {}
  [[nodiscard]] statistics observe(const vector& x) const {
    return {1.0, x, vector::Zero(x.size())};
  }
  [[nodiscard]] statistics join(const statistics& s, const statistics& t) const {
    const double n = s.n + t.n;
    const vector apart = t.mean - s.mean;
    return {n, s.mean + apart * (t.n / n),
            s.scatter + t.scatter + apart.cwiseProduct(apart) * (s.n * t.n / n)};
  }
  [[nodiscard]] double log_marginal(const statistics& s) const {
    const double kappa_n = kappa + s.n;
    const double a_n = a + 0.5 * s.n;
    double total = 0.0;
    for (Eigen::Index j = 0; j < mean.size(); ++j) {
      const double away = s.mean[j] - mean[j];
      const double b_n = b[j] + 0.5 * s.scatter[j] + 0.5 * kappa * s.n / kappa_n * away * away;
      total += std::lgamma(a_n) - std::lgamma(a) + a * std::log(b[j]) - a_n * std::log(b_n) +
               0.5 * std::log(kappa / kappa_n) - 0.5 * s.n * log_two_pi;
    }
    return total;
  }
};

/// Prior: kappa, nu, then d means, then the d x d scale matrix.
struct normal_inverse_wishart {
  struct statistics {
    double n;
    vector mean;
    matrix scatter;
  };
  double kappa, nu;
  vector mean;
  matrix psi;
  double prior_log_det;

  normal_inverse_wishart(const double* prior, Eigen::Index d)
      : kappa(prior[0]),
        nu(prior[1]),
        mean(Eigen::Map<const vector>(prior + 2, d)),
        psi(Eigen::Map<const matrix>(prior + 2 + d, d, d)),
        prior_log_det(log_det(psi)) {}
  [[nodiscard]] static double log_det(const matrix& of) {
    const Eigen::LLT<matrix> factor(of);
    return 2.0 * matrix(factor.matrixL()).diagonal().array().log().sum();
  }
  [[nodiscard]] static double log_gamma(Eigen::Index d, double x) {
    double total = 0.25 * static_cast<double>(d * (d - 1)) * log_pi;
    for (Eigen::Index j = 0; j < d; ++j) total += std::lgamma(x - 0.5 * static_cast<double>(j));
    return total;
  }
  [[nodiscard]] statistics observe(const vector& x) const {
    return {1.0, x, matrix::Zero(x.size(), x.size())};
  }
  [[nodiscard]] statistics join(const statistics& s, const statistics& t) const {
    const double n = s.n + t.n;
    const vector apart = t.mean - s.mean;
    return {n, s.mean + apart * (t.n / n),
            s.scatter + t.scatter + apart * apart.transpose() * (s.n * t.n / n)};
  }
  [[nodiscard]] double log_marginal(const statistics& s) const {
    const auto d = mean.size();
    const auto columns = static_cast<double>(d);
    const double kappa_n = kappa + s.n;
    const double nu_n = nu + s.n;
    const vector away = s.mean - mean;
    const matrix psi_n = psi + s.scatter + away * away.transpose() * (kappa * s.n / kappa_n);
    return -0.5 * s.n * columns * log_pi + log_gamma(d, 0.5 * nu_n) - log_gamma(d, 0.5 * nu) +
           0.5 * nu * prior_log_det - 0.5 * nu_n * log_det(psi_n) +
           0.5 * columns * std::log(kappa / kappa_n);
  }
};

template <class Family>
class clustering {
 public:
  clustering(const Family& family, double log_alpha) : family_(family), log_alpha_(log_alpha) {}

  /// Merges into one tree; log p̃_T of its root. children: n - 1 pairs.
  double run(const rows& X, std::int64_t* children) {
    for (Eigen::Index i = 0; i < X.rows(); ++i) add(family_.observe(X.row(i)));
    for (Eigen::Index merge = 1; merge < X.rows(); ++merge) {
      const pair best = next();
      *children++ = best.older;
      *children++ = best.newer;
      join(best);
    }
    return log_tree_.back();
  }

 private:
  using statistics = typename Family::statistics;

  struct pair {
    double log_d;
    std::int64_t older, newer;
    bool operator<(const pair& other) const {
      return std::tie(other.log_d, other.older, other.newer) < std::tie(log_d, older, newer);
    }
  };

  [[nodiscard]] double log_together(const statistics& s) const {
    return log_alpha_ + std::lgamma(s.n) + family_.log_marginal(s);
  }

  void add(statistics s, double log_apart = -HUGE_VAL) {
    const double together = log_together(s);
    const double more = std::max(together, log_apart);
    log_tree_.push_back(more + std::log(std::exp(together - more) + std::exp(log_apart - more)));
    clusters_.push_back(std::move(s));
    alive_.push_back(true);
    const std::size_t self = clusters_.size() - 1;
    for (std::size_t other = 0; other < self; ++other) {
      if (!alive_[other]) continue;
      const double joined = log_together(family_.join(clusters_[other], clusters_[self]));
      pairs_.push({log_tree_[other] + log_tree_[self] - joined, static_cast<std::int64_t>(other),
                   static_cast<std::int64_t>(self)});
    }
  }

  [[nodiscard]] bool alive(std::int64_t node) const {
    return alive_[static_cast<std::size_t>(node)];
  }

  [[nodiscard]] pair next() {
    for (;;) {
      const pair best = pairs_.top();
      pairs_.pop();
      if (alive(best.older) && alive(best.newer)) return best;
    }
  }

  void join(const pair& best) {
    const auto older = static_cast<std::size_t>(best.older);
    const auto newer = static_cast<std::size_t>(best.newer);
    alive_[older] = alive_[newer] = false;
    add(family_.join(clusters_[older], clusters_[newer]), log_tree_[older] + log_tree_[newer]);
  }

  Family family_;
  double log_alpha_;
  std::vector<statistics> clusters_;
  std::vector<double> log_tree_;
  std::vector<bool> alive_;
  std::priority_queue<pair> pairs_;
};

template <class Family>
double cluster(const Family& family, const rows& X, std::int64_t* children) {
  return clustering<Family>(family, 0.0).run(X, children);
}

}  // namespace

/// Greedy BHC with alpha = 1 of n rows of d columns; NaN when the family is not known.
extern "C" double textbook_bhc(const char* family, const double* prior, const double* cells,
                               std::int64_t n, std::int64_t d, std::int64_t* children) {
  const rows X(cells, n, d);
  const std::string name = family;
  if (name == "BernoulliBeta") return cluster(bernoulli(prior, d), X, children);
  if (name == "PoissonGamma") return cluster(poisson(prior, d), X, children);
  if (name == "MultinomialDirichlet") return cluster(multinomial(prior, d), X, children);
  if (name == "NormalInverseGamma") return cluster(normal_inverse_gamma(prior, d), X, children);
  if (name == "NormalInverseWishart") return cluster(normal_inverse_wishart(prior, d), X, children);
  return NAN;
}
