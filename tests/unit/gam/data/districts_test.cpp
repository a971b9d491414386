// SPDX-License-Identifier: Apache-2.0
// Districts of a Markov random field: their files, and what is wrong in them.
#include "gam/data/read_districts.hpp"
#include "support/errors.hpp"
#include "support/shared_world.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The districts in a file of this text. Every rank has a file of its own; rank 0 reads.
Districts districts_in(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = (folder / "d.json").string();
  std::ofstream(path, std::ios::binary) << text;
  return read_districts(testing::shared_world(), path, "area");
}

using Elements = std::vector<std::tuple<std::string, std::string, double>>;

Elements penalty_in(const std::string& text) {
  Elements out;
  const Districts districts = districts_in(text);
  for (const Districts::Element& one : districts.penalty)
    out.emplace_back(districts.names[static_cast<std::size_t>(one.row)],
                     districts.names[static_cast<std::size_t>(one.column)], one.value);
  return out;
}

const Elements of_three{{"a", "a", 1}, {"a", "b", -1}, {"b", "a", -1}, {"b", "b", 1}};

TEST(Districts, AreNeighboursInJson) {
  EXPECT_EQ(penalty_in(R"({"a": ["b"], "b": ["a"], "c": []})"), of_three);
  EXPECT_EQ(districts_in(R"({"a": ["b"], "b": ["a"], "c": []})").names,
            (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(penalty_in(R"({"1": [2, 2], "2": [1]})"),
            (Elements{{"1", "1", 1}, {"1", "2", -1}, {"2", "1", -1}, {"2", "2", 1}}));
}

TEST(Districts, ArePairsInCsv) {
  EXPECT_EQ(penalty_in("from,to\na,b\n"), of_three);
  EXPECT_EQ(penalty_in("a,b\nb,a\nc,\n"), of_three);
  EXPECT_EQ(penalty_in("from;to\n\"a\";\"b\"\n"), of_three);
  EXPECT_EQ(districts_in("from,to\n\"St. Gallen, town\",b\n").names.front(), "St. Gallen, town");
}

TEST(Districts, HaveAPenalty) {
  const Elements penalty{{"a", "a", 2}, {"a", "b", -0.5}, {"b", "a", -0.5}};
  EXPECT_EQ(penalty_in(R"({"a": {"a": 2, "b": -0.5}, "b": {"a": -0.5, "b": 0}})"), penalty);
  EXPECT_EQ(penalty_in("row,column,value\na,a,2\na,b,-0.5\nb,a,-0.5\n"), penalty);
}

std::string square(const std::string& name, int x, int y) {
  std::string out = R"({"type": "Feature", "properties": {"area": ")" + name +
                    R"("}, "geometry": {"type": "Polygon", "coordinates": [[)";
  for (const auto& [dx, dy] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}})
    out += (out.ends_with("[[") ? "[" : ",[") + std::to_string(x + dx) + "," + std::to_string(y + dy) + "]";
  return out + "]]}}";
}

std::string collection(const std::vector<std::string>& features) {
  std::string out = R"({"type": "FeatureCollection", "features": [)";
  for (const std::string& one : features) out += (out.ends_with('[') ? "" : ",") + one;
  return out + "]}";
}

TEST(Districts, OfPolygonsAreNeighboursByVertices) {
  // c has two parts, of which one touches b in a corner; d is apart.
  const Districts found = districts_in(collection(
      {square("a", 0, 0), square("b", 1, 0), square("c", 2, 1), square("d", 9, 9), square("c", 5, 5)}));
  EXPECT_EQ(found.names, (std::vector<std::string>{"a", "b", "c", "d"}));
  std::vector<std::pair<int, int>> neighbours;
  for (const Districts::Element& one : found.penalty)
    if (one.value < 0) neighbours.emplace_back(one.row, one.column);
  EXPECT_EQ(neighbours, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 2}, {2, 1}}));
}

TEST(Districts, AreNamedByAnId) {
  EXPECT_EQ(
      districts_in(
          collection(
              {R"({"id": 7, "geometry": {"type": "MultiPolygon", "coordinates": [[[[0,0],[1,0],[1,1],[0,0]]]]}})"}))
          .names,
      std::vector<std::string>{"7"});
}

TEST(Districts, RefuseWithFileAndPlace) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string said = error_of(
        ErrorCode::input, [&] { static_cast<void>(districts_in(text)); }, text);
    EXPECT_TRUE(contains(said, part));
    EXPECT_TRUE(contains(said, "d.json"));
    EXPECT_EQ(said.find('\n'), std::string::npos);
  };
  refused(R"({"a": ["b"], "b": ["a"], "c": ["q"]})", "'c' has the neighbour 'q', but this name is not among");
  refused(R"({"a": ["b"], "b": []})", "the boundary between 'a' and 'b' differs in the two directions");
  refused(R"({"a": ["a"]})", "'a' is its own neighbour");
  refused(R"({"a": ["b"], "b": [true]})", "b[0]: is true or false, not text");
  refused(R"({"a": 3})", "a: is 3, not a list");
  refused(R"({"a": {"a": 1, "b": -1}, "b": {"a": -2}})", "the penalty of 'a' and 'b' differs");
  refused(R"({"a": {"a": null}})", "a.a: is null, not a number");
  refused(R"({"a": ["b"])", "it is not valid JSON at byte");
  refused("", "the file has no districts");
  refused("from,to\n", "the file has no districts");
  refused("from,to\na,b\nb\n", "line 3: the line has 1 field:");
  refused("from,to\n,b\n", "line 2: its first field is empty");
  refused("row,column,value\na,,1\n", "line 2: its second field is empty");
  refused("from,to\na,a\n", "line 2: 'a' is its own neighbour");
  refused("row,column,value\na,b,x\n", "line 2: 'x' is not a finite number");
  refused("row,column,value\na,b,nan\n", "line 2: 'nan' is not a finite number");
  refused("row,column,value\na,a,1\na,b,-1\n", "line 2: the penalty of 'a' and 'b' differs");
  refused(R"({"type": "Topology"})", "type: is not FeatureCollection");
  const std::string open =
      R"({"id": "a", "geometry": {"type": "Polygon", "coordinates": [[[0,0],[1,0],[1,1],[0,1]]]}})";
  refused(collection({open}), "features[0].geometry.coordinates[0]: is not closed");
  refused(
      collection({R"({"id": "a", "geometry": {"type": "Polygon", "coordinates": [[[0,0],[1,0],[0,0]]]}})"}),
      "features[0].geometry.coordinates[0]: has fewer than 4 vertices");
  refused(
      collection({R"({"id": "a", "geometry": {"type": "Polygon", "coordinates": [[[0],[1,0],[1,1],[0]]]}})"}),
      "features[0].geometry.coordinates[0][0]: has fewer than 2 numbers");
  refused(
      collection(
          {R"({"id": "a", "geometry": {"type": "Polygon", "coordinates": [[[0,0],[1,null],[1,1],[0,0]]]}})"}),
      "features[0].geometry.coordinates[0][1][1]: is null, not a number");
  refused(collection({R"({"properties": {"name": "a"}, "geometry": null})"}),
          "has no name of its district: add a property 'area' or an id");
  refused(collection({R"({"id": "a", "geometry": {"type": "Point", "coordinates": [0, 0]}})"}),
          "neither Polygon nor");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
