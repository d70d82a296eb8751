#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/analysis/newick.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace testkit;
using bhclust::from_newick;
using bhclust::to_newick;

namespace {

std::string written(const tree& t, const std::vector<std::string>& names = {},
                    const std::vector<double>& height = {}) {
  return to_newick(t, bhclust::span<const std::string>(names), bhclust::span<const double>(height));
}

tree read(const std::string& text, const std::vector<std::string>& names = {},
          bool resolve = false) {
  return from_newick(text, bhclust::span<const std::string>(names), resolve);
}

void check_text_refused(const std::string& text, std::initializer_list<const char*> parts,
                        const std::vector<std::string>& names = {}) {
  CAPTURE(text);
  check_refused([&] { static_cast<void>(read(text, names)); }, parts);
}

}  // namespace

TEST_CASE("newick: written") {
  CHECK(written(chain_tree(1)) == "0;\n");
  CHECK(written(chain_tree(3)) == "((0,1),2);\n");
  CHECK(written(chain_tree(3), {"cat", "dog", "emu"}) == "((cat,dog),emu);\n");
  CHECK(written(chain_tree(3), {}, {0.0, 0.0, 0.25, 1.0, 1.5}) == "((0:1,1:1):0.5,2:1.25);\n");
  const std::vector<index_t> children{2, 0};
  CHECK(written(bhclust::tree_from_children(3, bhclust::span<const index_t>(children))) ==
        "1;\n(2,0);\n");
}

TEST_CASE("newick: read") {
  const auto t = read("((cat,dog),emu);", {"dog", "emu", "cat"});
  CHECK(t.children() == std::vector<index_t>{2, 0, 3, 1});
  CHECK(read("(1,(0,2));").children() == std::vector<index_t>{0, 2, 1, 3});
  CHECK(read("0;").leaves() == 1);
  CHECK(read("(Homo sapiens ,Pan_t.);", {"Homo sapiens", "Pan_t."}).merges() == 1);
  const auto forest = read("1;(2,0);\n3;");
  CHECK(forest.leaves() == 4);
  CHECK(forest.children() == std::vector<index_t>{2, 0});
}

TEST_CASE("newick: blanks, comments, lengths and inner labels are passed over") {
  for (const char* text : {
           " ( ( 0 , 1 ) , 2 ) ; ",
           "((0,1),2);\n\n",
           "[a tree]((0[&&NHX:S=x],1)[90],2[c])[d];[end]",
           "((0:1.5,1:-2e-3):0.25,2:+1E5):0;",
           "((0:inf,1:nan):0,2:1.)root;",
           "((0,1)0.95:0.1,2)'the root':3;",
           "(\t(0,\r\n1),\v2);",
           "((('0',\"1\")),(2));",
       }) {
    CAPTURE(std::string(text));
    CHECK(read(text).children() == std::vector<index_t>{0, 1, 3, 2});
  }
}

TEST_CASE("newick: labels that need quotes come back") {
  const std::vector<std::string> names{
      "it's",  "a,b",  "(c)",    "d e",        " ",   "f:1",   "[g]",         "'",
      "\"q\"", "''h'", "tab\ti", "two\nlines", "{j}", "naïve", "plain-1.5_x", " padded "};
  random_source random(1);
  const auto t = random_tree(random, count(names));
  const auto text = written(t, names);
  CHECK(text.find("'it''s'") != std::string::npos);
  CHECK(text.find("plain-1.5_x") != std::string::npos);
  CHECK(text.find("'plain-1.5_x'") == std::string::npos);
  CHECK(written(read(text, names), names) == text);
}

TEST_CASE("newick: random forests there and back") {
  for (int round = 0; round < 40; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const index_t leaves = 1 + random.below(30);
    const auto t = random_tree(random, leaves, 1 + random.below(leaves));
    const auto text = written(t);
    const auto s = read(text);
    CHECK(written(s) == text);
    CHECK(s.merges() == t.merges());
  }
}

TEST_CASE("newick: nodes of one child dissolve, of many are joined when asked") {
  CHECK(read("(((0)),(1,((2))));").children() == std::vector<index_t>{1, 2, 0, 3});
  CHECK(read("(0,1,2,3);", {}, true).children() == std::vector<index_t>{0, 1, 4, 2, 5, 3});
  CHECK(read("((0,1),(2,3,4));", {}, true).children() ==
        std::vector<index_t>{0, 1, 2, 3, 6, 4, 5, 7});
  check_text_refused("(0,1,2);",
                     {"Newick: a node has 3 children",
                      "the tree must be binary (pass resolve=True to join them left to right)"});
}

TEST_CASE("newick: branch lengths add up to the heights") {
  const auto text = written(chain_tree(3), {}, {0.0, 0.0, 0.0, 0.1, 0.3});
  CHECK(text.find(":0.10000000000000001") != std::string::npos);
  CHECK(read(text).children() == std::vector<index_t>{0, 1, 3, 2});
}

TEST_CASE("newick: refusals when writing") {
  check_refused([] { static_cast<void>(written(chain_tree(3), {"a", "b"})); },
                {"names has 2 entries for 3 leaves"});
  check_refused([] { static_cast<void>(written(chain_tree(3), {}, {1.0})); },
                {"heights has 1 entries for 5 nodes"});
}

TEST_CASE("newick: refusals when reading") {
  check_text_refused("", {"Newick: the text holds no tree"});
  check_text_refused(" [nothing] \n", {"Newick: the text holds no tree"});
  check_text_refused("(0,1)", {"Newick, character 5: the text ends before ';'"});
  check_text_refused("(0,1", {"the text ends before ';'"});
  check_text_refused("(0,", {"the text ends before ';'"});
  check_text_refused("0", {"the text ends before ';'"});
  check_text_refused("[open (0,1);", {"Newick, character 0: a comment '[' is not closed"});
  check_text_refused("(0,1[x);", {"character 4: a comment '[' is not closed"});
  check_text_refused("(0,'1);", {"a quoted label is not closed"});
  check_text_refused("(0,\"1);", {"a quoted label is not closed"});
  check_text_refused("(0,);", {"character 3: a leaf has no label"});
  check_text_refused("(,0);", {"character 1: a leaf has no label"});
  check_text_refused(";", {"character 0: a leaf has no label"});
  check_text_refused("();", {"a leaf has no label"});
  check_text_refused("(0,1));", {"character 5: unexpected ')'"});
  check_text_refused("((0,1);", {"character 6: unexpected ';'"});
  check_text_refused("0,1;", {"character 1: unexpected ','"});
  check_text_refused("(0 (1,2));", {"unexpected '('"});
  check_text_refused("(0]1,2);", {"unexpected ']'"});
  check_text_refused("(0:,1);", {"character 3: a branch length is missing after ':'"});
  check_text_refused("(0:x,1);", {"character 3: a branch length is missing after ':'"});
  check_text_refused("(0,7);", {"Newick: leaf '7' is not one of the names",
                                "without names, leaves are labelled by row number, 0 to 1"});
  check_text_refused("(0,0);", {"Newick: leaf '0' is there twice"});
  check_text_refused("(a,b);", {"leaf 'b' is not one of the names"}, {"a", "c"});
  check_text_refused("(a,a);", {"leaf 'a' is there twice"}, {"a", "b"});
  check_text_refused("(a,b);",
                     {"the tree has 2 leaves and there are 3 names; they must be the same rows"},
                     {"a", "b", "c"});
  check_text_refused("(a,b);", {"names[0] and names[1] are both 'a'; names must differ"},
                     {"a", "a"});
  check_text_refused("(a,b);", {"names[1] is empty; every leaf needs a name"}, {"a", ""});
}

TEST_CASE("newick: what could not be read back is not written") {
  const auto refused = [](const std::vector<std::string>& names, const std::vector<double>& height,
                          std::initializer_list<const char*> parts) {
    check_refused([&] { static_cast<void>(written(chain_tree(3), names, height)); }, parts);
  };
  refused({"a", "b", "a"}, {}, {"names[0] and names[2] are both 'a'; names must differ"});
  refused({"a", "", "c"}, {}, {"names[1] is empty; every leaf needs a name in Newick text"});
  refused({}, {0.0, 0.0, 0.0, missing, 1.0}, {"heights[3] is ", "it must be a finite number"});
  refused({}, {0.0, 0.0, 0.0, 1.0, infinite}, {"heights[4] is inf; it must be a finite number"});
  refused({}, {-infinite, 0.0, 0.0, 1.0, 2.0}, {"heights[0] is -inf; it must be a finite number"});
  refused({}, {0.0, 0.0, 0.0, 2.0, 1.0}, {"heights[3] is 2, above its parent's: heights[4] is 1"});
  refused({}, {0.0, 0.0, -1e308, 0.0, 1e308}, {"their difference overflows"});
}

TEST_CASE("newick: names of all characters come back") {
  std::vector<std::string> names;
  for (int c = 0; c < 256; ++c) {
    for (const char* around : {"", "x", "'"}) {
      names.push_back(around + std::string(1, static_cast<char>(c)) + around);
    }
  }
  const tree t = chain_tree(count(names));
  CHECK(read(written(t, names), names).children() == t.children());
}
