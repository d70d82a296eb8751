/// @file
/// A family chosen at run time, which is itself a Family: algorithms compiled once serve them all.
/// One virtual call scores a cluster against many, so the erasure costs nothing that can be
/// measured.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

/// A store of any model.
class erased_store {
 public:
  class query {
   public:
    virtual ~query() = default;

   protected:
    query() = default;
    query(const query&) = default;
    query(query&&) = default;
    query& operator=(const query&) = default;
    query& operator=(query&&) = default;
  };

  virtual ~erased_store() = default;
  [[nodiscard]] virtual std::unique_ptr<query> make_query() const = 0;
  [[nodiscard]] virtual index_t slots() const = 0;
  virtual void load(query& q, index_t slot) const = 0;
  virtual void row(const query& q, index_t begin, index_t end, double* out) const = 0;
  [[nodiscard]] virtual bool lends_rows() const = 0;
  /// Null where none are lent.
  [[nodiscard]] virtual std::unique_ptr<erased_store> some(
      const std::vector<index_t>& slots) const = 0;
  [[nodiscard]] virtual index_t query_width() const = 0;
  virtual void prepare_searches() = 0;
  [[nodiscard]] virtual bool searches() const = 0;
  virtual void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
                      cheapest& best) const = 0;
  virtual void retire(index_t slot) = 0;
  [[nodiscard]] virtual bool bounds_costs() const = 0;
  virtual void bounds(const query& q, index_t begin, index_t end, double* out) const = 0;
  /// The next two are 0 where this is false.
  [[nodiscard]] virtual bool has_peaks() const = 0;
  [[nodiscard]] virtual double peak(const query& q) const = 0;
  [[nodiscard]] virtual double own(index_t slot) const = 0;
  virtual index_t merge(index_t a, index_t b) = 0;
  virtual index_t merge_all(index_t a, const std::vector<index_t>& others) = 0;
  virtual void keep(const std::vector<index_t>& slots) = 0;

 protected:
  erased_store() = default;
  erased_store(const erased_store&) = default;
  erased_store(erased_store&&) = default;
  erased_store& operator=(const erased_store&) = default;
  erased_store& operator=(erased_store&&) = default;
};

template <class Store>
class erased_store_of final : public erased_store {
 public:
  /// Takes the function that makes the store, which is thus made in its place.
  template <class Make>
  explicit erased_store_of(const Make& make) : store_(make()) {}

  [[nodiscard]] std::unique_ptr<query> make_query() const override {
    return std::make_unique<held_query>();
  }
  [[nodiscard]] index_t slots() const override { return store_.slots(); }
  void load(query& q, index_t slot) const override {
    store_.load(static_cast<held_query&>(q).held, slot);
  }
  void row(const query& q, index_t begin, index_t end, double* out) const override {
    store_.row(static_cast<const held_query&>(q).held, begin, end, out);
  }
  [[nodiscard]] bool lends_rows() const override { return detail::lends_rows(store_); }
  [[nodiscard]] std::unique_ptr<erased_store> some(
      const std::vector<index_t>& slots) const override {
    if constexpr (may_lend_rows<Store>) {
      return std::make_unique<erased_store_of>([&] { return Store(store_, slots); });
    } else {
      static_cast<void>(slots);
      return nullptr;
    }
  }
  [[nodiscard]] index_t query_width() const override { return detail::query_width(store_); }
  void prepare_searches() override { detail::prepare_searches(store_); }
  [[nodiscard]] bool searches() const override { return can_search(store_); }
  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const override {
    if constexpr (has<searches_t, Store>) {
      store_.search(static_cast<const held_query&>(q).held, begin, end, offset, best);
    }
  }
  void retire(index_t slot) override {
    if constexpr (has<searches_t, Store>) store_.retire(slot);
  }
  [[nodiscard]] bool bounds_costs() const override { return can_bound(store_); }
  void bounds(const query& q, index_t begin, index_t end, double* out) const override {
    if constexpr (has<bounds_t, Store>) {
      store_.bounds(static_cast<const held_query&>(q).held, begin, end, out);
    }
  }
  [[nodiscard]] bool has_peaks() const override { return detail::has_peaks(store_); }
  [[nodiscard]] double peak(const query& q) const override {
    if constexpr (has<peak_t, Store>) {
      return store_.peak(static_cast<const held_query&>(q).held);
    } else {
      static_cast<void>(q);
      return 0.0;
    }
  }
  [[nodiscard]] double own(index_t slot) const override {
    if constexpr (has<peak_t, Store>) {
      return store_.own(slot);
    } else {
      static_cast<void>(slot);
      return 0.0;
    }
  }
  index_t merge(index_t a, index_t b) override { return store_.merge(a, b); }
  index_t merge_all(index_t a, const std::vector<index_t>& others) override {
    return detail::merge_all(store_, a, others);
  }
  void keep(const std::vector<index_t>& slots) override { store_.keep(slots); }
  [[nodiscard]] const Store& store() const noexcept { return store_; }

 private:
  struct held_query final : query {
    typename Store::query held;
  };
  Store store_;
};

template <class Bare>
using group_store_t = typename Bare::group_store;

/// A model of any family.
class erased_model {
 public:
  virtual ~erased_model() = default;
  [[nodiscard]] virtual index_t width() const = 0;
  virtual void observe(const row_view& row, double* t) const = 0;
  [[nodiscard]] virtual double log_marginal(const double* t) const = 0;
  virtual void log_marginals(const double* t, index_t count, double* out) const = 0;
  [[nodiscard]] virtual bool possible(const double* t, index_t rows) const = 0;
  /// One made ready for clusters of so many rows; null if there is nothing to make ready.
  [[nodiscard]] virtual std::shared_ptr<const erased_model> prepared(index_t rows) const = 0;
  /// The same with statistics laid out as before.
  [[nodiscard]] virtual std::shared_ptr<const erased_model> prepared_in_place(
      index_t rows) const = 0;
  virtual void merge(double* t, const double* s) const = 0;
  virtual void remove(double* t, const double* s) const = 0;
  [[nodiscard]] virtual double divergence(const double* t, const double* s,
                                          double* scratch) const = 0;
  [[nodiscard]] virtual index_t gradient_size() const = 0;
  virtual void add_gradient(const double* t, double weight, double* g) const = 0;
  [[nodiscard]] virtual index_t mean_size(index_t column) const = 0;
  virtual void predictive_mean(const double* t, double* out) const = 0;
  virtual void sample(const double* t, random_source& random, double* row) const = 0;
  virtual void column_terms(const double* t, const index_t* order, double* out) const = 0;
  [[nodiscard]] virtual std::vector<double> ward_units() const = 0;
  [[nodiscard]] virtual double ward_mean(const double* t, double* mean) const = 0;
  [[nodiscard]] virtual index_t smoothed_means_size() const = 0;
  virtual double smoothed_means(const double* t, double* u) const = 0;
  [[nodiscard]] virtual std::unique_ptr<erased_store> make_store(score_kind kind,
                                                                 const table_view& X) const = 0;
  /// `whole` is a store of this model.
  [[nodiscard]] virtual std::unique_ptr<erased_store> make_store_alike(
      score_kind kind, const erased_store& whole, const table_view& some) const = 0;
  /// Whether there is a store of its own for a table of groups, of the evidence.
  [[nodiscard]] virtual bool takes_groups(const table_view& X) const = 0;
  [[nodiscard]] virtual std::unique_ptr<erased_store> make_group_store(
      const table_view& X) const = 0;
  [[nodiscard]] virtual std::unique_ptr<erased_store> make_group_store_alike(
      const erased_store& whole, const table_view& some) const = 0;

 protected:
  erased_model() = default;
  erased_model(const erased_model&) = default;
  erased_model(erased_model&&) = default;
  erased_model& operator=(const erased_model&) = default;
  erased_model& operator=(erased_model&&) = default;
};

template <class Model>
class erased_model_of final : public erased_model {
 public:
  explicit erased_model_of(Model model) : model_(std::move(model)) {}

  [[nodiscard]] index_t width() const override { return model_.width(); }
  void observe(const row_view& row, double* t) const override { model_.observe(row, t); }
  [[nodiscard]] double log_marginal(const double* t) const override {
    return model_.log_marginal(t);
  }
  void log_marginals(const double* t, index_t count, double* out) const override {
    model_.log_marginals(t, count, out);
  }
  [[nodiscard]] bool possible(const double* t, index_t rows) const override {
    return model_.possible(t, rows);
  }
  [[nodiscard]] std::shared_ptr<const erased_model> prepared(index_t rows) const override {
    if constexpr (Model::preparable) {
      auto ready = bhclust::detail::prepared(model_, rows);
      return std::make_shared<erased_model_of<decltype(ready)>>(std::move(ready));
    } else {
      static_cast<void>(rows);
      return nullptr;
    }
  }
  [[nodiscard]] std::shared_ptr<const erased_model> prepared_in_place(index_t rows) const override {
    if constexpr (has<prepare_t, typename Model::bare>) {
      Model ready = model_;
      ready.prepare_in_place(rows);
      return std::make_shared<erased_model_of>(std::move(ready));
    } else {
      static_cast<void>(rows);
      return nullptr;
    }
  }
  void merge(double* t, const double* s) const override { model_.merge(t, s); }
  void remove(double* t, const double* s) const override { model_.remove(t, s); }
  [[nodiscard]] double divergence(const double* t, const double* s,
                                  double* scratch) const override {
    return model_.divergence(t, s, scratch);
  }
  [[nodiscard]] index_t gradient_size() const override { return model_.gradient_size(); }
  void add_gradient(const double* t, double weight, double* g) const override {
    model_.add_gradient(t, weight, g);
  }
  [[nodiscard]] index_t mean_size(index_t column) const override {
    return model_.mean_size(column);
  }
  void predictive_mean(const double* t, double* out) const override {
    model_.predictive_mean(t, out);
  }
  void sample(const double* t, random_source& random, double* row) const override {
    model_.sample(t, random, row);
  }
  void column_terms(const double* t, const index_t* order, double* out) const override {
    model_.column_terms(t, order, out);
  }
  [[nodiscard]] std::vector<double> ward_units() const override { return model_.ward_units(); }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const override {
    return model_.ward_mean(t, mean);
  }
  [[nodiscard]] index_t smoothed_means_size() const override {
    return model_.smoothed_means_size();
  }
  double smoothed_means(const double* t, double* u) const override {
    return model_.smoothed_means(t, u);
  }
  [[nodiscard]] std::unique_ptr<erased_store> make_store(score_kind kind,
                                                         const table_view& X) const override {
    if (kind == score_kind::relaxed) return erase<relaxed_score>(X);
    return erase<evidence_score>(X);
  }
  [[nodiscard]] std::unique_ptr<erased_store> make_store_alike(
      score_kind kind, const erased_store& whole, const table_view& some) const override {
    if (kind == score_kind::relaxed) return erase_alike<relaxed_score>(whole, some);
    return erase_alike<evidence_score>(whole, some);
  }
  [[nodiscard]] bool takes_groups(const table_view& X) const override {
    if constexpr (has<group_store_t, bare>) {
      return bare::group_store::takes(model_.base(), X);
    } else {
      static_cast<void>(X);
      return false;
    }
  }
  [[nodiscard]] std::unique_ptr<erased_store> make_group_store(const table_view& X) const override {
    if constexpr (has<group_store_t, bare>) {
      using store = typename bare::group_store;
      return std::make_unique<erased_store_of<store>>([&] { return store(model_.base(), X); });
    } else {
      static_cast<void>(X);
      return nullptr;
    }
  }
  [[nodiscard]] std::unique_ptr<erased_store> make_group_store_alike(
      const erased_store& whole, const table_view& some) const override {
    if constexpr (has<group_store_t, bare>) {
      using store = typename bare::group_store;
      const auto& held = static_cast<const erased_store_of<store>&>(whole).store();
      return std::make_unique<erased_store_of<store>>(
          [&] { return store(held, model_.base(), some); });
    } else {
      static_cast<void>(whole);
      static_cast<void>(some);
      return nullptr;
    }
  }

 private:
  using bare = typename Model::bare;

  template <class Score>
  [[nodiscard]] std::unique_ptr<erased_store> erase(const table_view& X) const {
    using store = typename store_for<Model, Score>::type;
    return std::make_unique<erased_store_of<store>>(
        [&] { return bhclust::detail::make_store<Score>(model_, X); });
  }
  template <class Score>
  [[nodiscard]] std::unique_ptr<erased_store> erase_alike(const erased_store& whole,
                                                          const table_view& some) const {
    using store = typename store_for<Model, Score>::type;
    const auto& held = static_cast<const erased_store_of<store>&>(whole).store();
    return std::make_unique<erased_store_of<store>>(
        [&] { return bhclust::detail::make_store_alike<Score>(held, model_, some); });
  }
  Model model_;
};

}  // namespace detail

/// A model of any family, by value; copies share it.
class any_model {
 public:
  template <class Score>
  class store;
  class group_store;

  explicit any_model(std::shared_ptr<const detail::erased_model> model)
      : model_(std::move(model)) {}

  [[nodiscard]] index_t width() const { return model_->width(); }
  void observe(const row_view& row, double* t) const { model_->observe(row, t); }
  [[nodiscard]] double log_marginal(const double* t) const { return model_->log_marginal(t); }
  void log_marginals(const double* t, index_t count, double* out) const {
    model_->log_marginals(t, count, out);
  }
  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    return model_->possible(t, rows);
  }
  /// Copies made before are left as they are.
  void prepare(index_t rows) {
    if (auto ready = model_->prepared(rows)) model_ = std::move(ready);
  }
  /// The same, but statistics that exist stay what they are.
  void prepare_in_place(index_t rows) {
    if (auto ready = model_->prepared_in_place(rows)) model_ = std::move(ready);
  }
  void merge(double* t, const double* s) const { model_->merge(t, s); }
  void remove(double* t, const double* s) const { model_->remove(t, s); }
  [[nodiscard]] double divergence(const double* t, const double* s, double* scratch) const {
    return model_->divergence(t, s, scratch);
  }
  [[nodiscard]] index_t gradient_size() const { return model_->gradient_size(); }
  void add_gradient(const double* t, double weight, double* g) const {
    model_->add_gradient(t, weight, g);
  }
  [[nodiscard]] index_t mean_size(index_t column) const { return model_->mean_size(column); }
  void predictive_mean(const double* t, double* out) const { model_->predictive_mean(t, out); }
  void sample(const double* t, detail::random_source& random, double* row) const {
    model_->sample(t, random, row);
  }
  void column_terms(const double* t, const index_t* order, double* out) const {
    model_->column_terms(t, order, out);
  }
  [[nodiscard]] std::vector<double> ward_units() const { return model_->ward_units(); }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const {
    return model_->ward_mean(t, mean);
  }
  [[nodiscard]] index_t smoothed_means_size() const { return model_->smoothed_means_size(); }
  double smoothed_means(const double* t, double* u) const { return model_->smoothed_means(t, u); }

 private:
  std::shared_ptr<const detail::erased_model> model_;
};

template <class Score>
class any_model::store {
 public:
  struct query {
    std::unique_ptr<detail::erased_store::query> held;
  };

  store(const any_model& model, const table_view& X)
      : store_(model.model_->make_store(Score::kind, X)) {}

  store(const store& whole, const any_model& model, const table_view& some)
      : store_(model.model_->make_store_alike(Score::kind, *whole.store_, some)) {}

  store(const store& whole, const std::vector<index_t>& slots)
      : store_(whole.store_->some(slots)) {}

  [[nodiscard]] index_t slots() const { return store_->slots(); }
  void load(query& q, index_t slot) const {
    if (!q.held) q.held = store_->make_query();
    store_->load(*q.held, slot);
  }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    store_->row(*q.held, begin, end, out);
  }
  [[nodiscard]] bool lends_rows() const { return store_->lends_rows(); }
  [[nodiscard]] index_t query_width() const { return store_->query_width(); }
  void prepare_searches() { store_->prepare_searches(); }
  [[nodiscard]] bool searches() const { return store_->searches(); }
  void search(const query& q, index_t begin, index_t end, const detail::cost_offsets& offset,
              detail::cheapest& best) const {
    store_->search(*q.held, begin, end, offset, best);
  }
  void retire(index_t slot) { store_->retire(slot); }
  [[nodiscard]] bool bounds_costs() const { return store_->bounds_costs(); }
  void bounds(const query& q, index_t begin, index_t end, double* out) const {
    store_->bounds(*q.held, begin, end, out);
  }
  [[nodiscard]] bool has_peaks() const { return store_->has_peaks(); }
  [[nodiscard]] double peak(const query& q) const { return store_->peak(*q.held); }
  [[nodiscard]] double own(index_t slot) const { return store_->own(slot); }
  index_t merge(index_t a, index_t b) { return store_->merge(a, b); }
  index_t merge_all(index_t a, const std::vector<index_t>& others) {
    return store_->merge_all(a, others);
  }
  void keep(const std::vector<index_t>& slots) { store_->keep(slots); }

 protected:
  explicit store(std::unique_ptr<detail::erased_store> made) : store_(std::move(made)) {}
  [[nodiscard]] const detail::erased_store& held() const noexcept { return *store_; }

 private:
  std::unique_ptr<detail::erased_store> store_;
};

/// Of a table of groups, where the family held has a store for these.
class any_model::group_store : public store<detail::evidence_score> {
  using base = store<detail::evidence_score>;

 public:
  group_store(const any_model& model, const table_view& X)
      : base(model.model_->make_group_store(X)) {}
  group_store(const group_store& whole, const any_model& model, const table_view& some)
      : base(model.model_->make_group_store_alike(whole.held(), some)) {}

  [[nodiscard]] static bool takes(const any_model& model, const table_view& X) {
    return model.model_->takes_groups(X);
  }
};

/// Any family, by value; copies share it. Models the Family concept.
class any_family {
 public:
  static constexpr bool takes_groups = true;  ///< where the family held does

  template <class Family, class = std::enable_if_t<!std::is_same_v<Family, any_family>>>
  any_family(Family family)  // NOLINT(google-explicit-constructor): a family is one of any
      : held_(std::make_shared<holder<Family>>(std::move(family))) {}

  [[nodiscard]] std::string name() const { return held_->name(); }
  void check_data(const table_view& X) const { held_->check_data(X); }
  [[nodiscard]] any_model bind(index_t columns) const { return held_->bind(columns); }
  /// Whether RBHC can use it.
  [[nodiscard]] bool relaxable() const { return held_->relaxable(); }

  /// The family, if it is of this type, else nullptr.
  template <class Family>
  [[nodiscard]] const Family* get_if() const {
    const auto* found = dynamic_cast<const holder<Family>*>(held_.get());
    return found == nullptr ? nullptr : &found->family;
  }

 private:
  class holder_base {
   public:
    virtual ~holder_base() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    virtual void check_data(const table_view& X) const = 0;
    [[nodiscard]] virtual any_model bind(index_t columns) const = 0;
    [[nodiscard]] virtual bool relaxable() const = 0;

   protected:
    holder_base() = default;
    holder_base(const holder_base&) = default;
    holder_base(holder_base&&) = default;
    holder_base& operator=(const holder_base&) = default;
    holder_base& operator=(holder_base&&) = default;
  };

  template <class Family>
  class holder final : public holder_base {
   public:
    explicit holder(Family f) : family(std::move(f)) {}

    [[nodiscard]] std::string name() const override { return family_name(family); }
    void check_data(const table_view& X) const override { bhclust::check_data(family, X); }
    [[nodiscard]] any_model bind(index_t columns) const override {
      using model = model_of<Family>;
      return any_model(
          std::make_shared<detail::erased_model_of<model>>(bhclust::bind(family, columns)));
    }
    [[nodiscard]] bool relaxable() const override { return model_of<Family>::relaxable; }

    const Family family;
  };

  std::shared_ptr<const holder_base> held_;
};

}  // namespace bhclust
