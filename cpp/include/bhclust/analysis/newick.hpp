/// @file
/// Newick text both ways, without recursion: a chain of a million leaves is fine.
#pragma once

#include <bhclust/detail/heights.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

/// A label as Newick wants it: quoted when it is empty or has a character with a meaning.
[[nodiscard]] inline std::string newick_label(const std::string& name) {
  constexpr std::string_view special = "()[]{}:;,'\"";
  bool plain = !name.empty();
  for (const char c : name) {
    if (special.find(c) != std::string_view::npos ||
        std::isspace(static_cast<unsigned char>(c)) != 0) {
      plain = false;
    }
  }
  if (plain) return name;
  std::string quoted = "'";
  for (const char c : name) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

/// What a label costs to read or write, for pacers.
inline constexpr index_t work_a_label = 64;

class newick_writer {
 public:
  newick_writer(const tree& t, span<const std::string> names, span<const double> height)
      : tree_(t), names_(names), height_(height) {}

  [[nodiscard]] std::string write() && {
    for (const index_t root : tree_.roots()) {
      write_below(root);
      text_ += ";\n";
    }
    return std::move(text_);
  }

 private:
  /// What remains to be written: a node, a comma before its second child, or its end.
  enum class step { open, second, end };

  void write_below(index_t root) {
    std::vector<std::pair<index_t, step>> pending{{root, step::open}};
    while (!pending.empty()) {
      const auto [node, what] = pending.back();
      pending.pop_back();
      pace_(work_a_label);
      if (what == step::second) {
        text_ += ',';
      } else if (what == step::end) {
        text_ += ')';
        write_length(node);
      } else if (tree_.is_leaf(node)) {
        text_ += names_.empty() ? std::to_string(node) : newick_label(names_[node]);
        write_length(node);
      } else {
        text_ += '(';
        pending.emplace_back(node, step::end);
        pending.emplace_back(tree_.right(node), step::open);
        pending.emplace_back(node, step::second);
        pending.emplace_back(tree_.left(node), step::open);
      }
    }
  }

  void write_length(index_t node) {
    const index_t up = tree_.parent(node);
    if (height_.empty() || up < 0) return;
    char number[40];
    const int length = std::snprintf(number, sizeof number, ":%.17g", height_[up] - height_[node]);
    std::replace(number, number + length, ',', '.');  // a program may have set another locale
    text_.append(number, static_cast<std::size_t>(length));
  }

  const tree& tree_;
  span<const std::string> names_;
  span<const double> height_;
  std::string text_;
  pacer pace_;
};

/// Reads Newick into postfix form: leaves by label, and how many children each inner node closes.
class newick_reader {
 public:
  struct item {
    std::string label;  ///< of a leaf
    index_t children;   ///< of an inner node; 0 at leaves
  };

  explicit newick_reader(std::string_view text) : text_(text) {}

  [[nodiscard]] std::vector<item> read() && {
    skip();
    while (at_ < text_.size()) {
      read_tree();
      skip();
    }
    require(!items_.empty(), "Newick: the text holds no tree");
    return std::move(items_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail("Newick, character " + std::to_string(at_) + ": " + what);
  }

  /// Passes over blanks and [comments].
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '[') {
        const auto end = text_.find(']', at_);
        if (end == std::string_view::npos) refuse("a comment '[' is not closed");
        at_ = end + 1;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }

  [[nodiscard]] char next() {
    skip();
    if (at_ >= text_.size()) refuse("the text ends before ';'");
    return text_[at_];
  }

  void read_tree() {
    std::vector<index_t> open;  // children read so far of each open parenthesis
    for (bool wants_node = true;;) {
      const char c = next();
      pace_(work_a_label);
      if (wants_node && c == '(') {
        open.push_back(0);
        ++at_;
      } else if (wants_node) {
        items_.push_back({label(), 0});
        if (items_.back().label.empty()) refuse("a leaf has no label");
        skip_length();
        if (!open.empty()) ++open.back();
        wants_node = false;
      } else if (c == ',' && !open.empty()) {
        ++at_;
        wants_node = true;
      } else if (c == ')' && !open.empty()) {
        ++at_;
        close(open);
      } else if (c == ';' && open.empty()) {
        ++at_;
        return;
      } else {
        refuse(std::string("unexpected '") + c + "'");
      }
    }
  }

  void close(std::vector<index_t>& open) {
    const index_t children = open.back();
    open.pop_back();
    if (children > 1) items_.push_back({{}, children});
    if (!open.empty()) ++open.back();
    static_cast<void>(label());
    skip_length();
  }

  [[nodiscard]] std::string label() {
    const char c = next();
    if (c == '\'' || c == '"') return quoted(c);
    constexpr std::string_view ends = "()[],:;";
    const std::size_t first = at_;
    while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) ++at_;
    std::string name(text_.substr(first, at_ - first));
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0)
      name.pop_back();
    return name;
  }

  [[nodiscard]] std::string quoted(char quote) {
    std::string name;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) refuse("a quoted label is not closed");
      if (text_[at_] == quote) {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != quote) break;
        ++at_;
      }
      name += text_[at_];
    }
    ++at_;
    return name;
  }

  void skip_length() {
    if (next() != ':') return;
    ++at_;
    skip();
    const std::size_t first = at_;
    constexpr std::string_view numeric = "+-.0123456789eEinfaINFA";
    while (at_ < text_.size() && numeric.find(text_[at_]) != std::string_view::npos) ++at_;
    if (first == at_) refuse("a branch length is missing after ':'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<item> items_;
  pacer pace_;
};

/// Rows by label: the given names, or row numbers when there are none.
class row_finder {
 public:
  row_finder(span<const std::string> names, index_t leaves) : taken_(at(leaves), 0) {
    pacer pace;
    rows_.reserve(at(leaves));
    for (index_t i = 0; i < leaves; ++i) {
      const std::string& name = names.empty() ? std::to_string(i) : names[i];
      require(!name.empty(), [&] {
        return "names[" + std::to_string(i) + "] is empty; every leaf needs a name in Newick text";
      });
      const auto [place, is_new] = rows_.emplace(name, i);
      require(is_new, [&, first = place->second] {
        return "names[" + std::to_string(first) + "] and names[" + std::to_string(i) +
               "] are both '" + name + "'; names must differ";
      });
      pace(work_a_label);
    }
  }

  [[nodiscard]] index_t take(const std::string& label) {
    const auto found = rows_.find(label);
    require(found != rows_.end(), [&] {
      return "Newick: leaf '" + label + "' is not one of the names (without names, leaves are " +
             "labelled by row number, 0 to " + std::to_string(taken_.size() - 1) + ")";
    });
    require(taken_[at(found->second)]++ == 0,
            [&] { return "Newick: leaf '" + label + "' is there twice"; });
    return found->second;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  std::unordered_map<std::string, index_t> rows_;
  std::vector<unsigned char> taken_;
};

}  // namespace detail

/// Newick text, one line a root. Leaves carry `names` (one a row) or row numbers; branch lengths
/// are differences of `height` (one finite value a node, none larger than at the parent) when
/// given. Names must differ and not be empty: what is written can be read back.
[[nodiscard]] inline std::string to_newick(const tree& t, span<const std::string> names = {},
                                           span<const double> height = {}) {
  require(names.empty() || names.size() == t.leaves(), [&] {
    return "names has " + std::to_string(names.size()) + " entries for " +
           std::to_string(t.leaves()) + " leaves";
  });
  if (!names.empty()) static_cast<void>(detail::row_finder(names, t.leaves()));
  if (!height.empty()) detail::require_heights(t, height);
  return detail::newick_writer(t, names, height).write();
}

/// The forest of a Newick text. Leaf labels are `names` (row i is names[i]) or row numbers. Branch
/// lengths and inner labels are passed over, inner nodes with one child dissolved. A node with more
/// than two children is refused, or with `resolve` joined from left to right.
[[nodiscard]] inline tree from_newick(std::string_view text, span<const std::string> names = {},
                                      bool resolve = false) {
  const auto items = detail::newick_reader(text).read();
  index_t leaves = 0;
  for (const auto& item : items) leaves += item.children == 0 ? 1 : 0;
  require(names.empty() || names.size() == leaves, [&] {
    return "Newick: the tree has " + std::to_string(leaves) + " leaves and there are " +
           std::to_string(names.size()) + " names; they must be the same rows";
  });
  detail::row_finder rows(names, leaves);
  tree_builder grown(leaves);
  std::vector<index_t> finished;
  detail::pacer pace;
  for (const auto& item : items) {
    pace(detail::work_a_label);
    if (item.children == 0) {
      finished.push_back(rows.take(item.label));
      continue;
    }
    require(item.children == 2 || resolve, [&] {
      return "Newick: a node has " + std::to_string(item.children) +
             " children; the tree must be binary (pass resolve=True to join them left to right)";
    });
    const auto first = finished.size() - static_cast<std::size_t>(item.children);
    index_t node = finished[first];
    for (std::size_t c = first + 1; c < finished.size(); ++c) node = grown.join(node, finished[c]);
    finished.resize(first);
    finished.push_back(node);
  }
  return std::move(grown).finish();
}

}  // namespace bhclust
