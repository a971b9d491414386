// SPDX-License-Identifier: Apache-2.0
#include "gam/data/read_districts.hpp"

#include "base/errors.hpp"
#include "base/message.hpp"
#include "base/number.hpp"
#include "base/pluralised.hpp"
#include "base/text.hpp"
#include "files/input_file.hpp"
#include "files/json_file.hpp"
#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/csv/csv_dialect.hpp"
#include "gam/data/csv/csv_tokenizer.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using files::JsonField;

/// The name of a district, which may be a JSON number.
std::string district_name(const JsonField& field) {
  return field.is_number() ? fmt::format("{}", field.number()) : field.text();
}

/// Collects polygons by district; districts that share a vertex are neighbours.
class Polygons {
 public:
  void add(const JsonField& feature, const std::string& variable) {
    const int district = district_of(feature, variable);
    const JsonField geometry = feature.at("geometry");
    const JsonField type = geometry.at("type");
    const JsonField parts = geometry.at("coordinates");
    if (type.text() == "Polygon") return add_polygon(parts, district);
    if (type.text() != "MultiPolygon") type.refuse("is neither Polygon nor MultiPolygon");
    for (const JsonField& polygon : parts.elements()) add_polygon(polygon, district);
  }

  [[nodiscard]] std::vector<DistrictEntry> entries() const {
    std::vector<std::set<int>> neighbours(names_.size());
    for (const auto& [vertex, districts] : vertices_) {
      for (const int one : districts) {
        for (const int other : districts) {
          if (one != other) neighbours[static_cast<std::size_t>(one)].insert(other);
        }
      }
    }
    std::vector<DistrictEntry> out;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      DistrictEntry& entry = out.emplace_back(DistrictEntry{names_[i], {}});
      for (const int other : neighbours[i]) entry.others.push_back(names_[static_cast<std::size_t>(other)]);
    }
    return out;
  }

 private:
  int district_of(const JsonField& feature, const std::string& variable) {
    const auto properties = feature.find("properties");
    auto name = properties ? properties->find(variable) : std::nullopt;
    if (!name) name = feature.find("id");
    if (!name)
      feature.refuse(fmt::format("has no name of its district: add a property '{}' or an id", variable));
    const std::string text = district_name(*name);
    const auto [found, is_new] = places_.emplace(text, static_cast<int>(names_.size()));
    if (is_new) names_.push_back(text);
    return found->second;
  }

  void add_polygon(const JsonField& polygon, int district) {
    constexpr std::size_t least = 4;
    for (const JsonField& ring : polygon.elements()) {
      std::array<double, 2> first{};
      std::array<double, 2> last{};
      const std::vector<JsonField> positions = ring.elements();
      if (positions.size() < least)
        ring.refuse("has fewer than 4 vertices, counting the first vertex again at the end");
      for (std::size_t i = 0; i < positions.size(); ++i) {
        const std::vector<double> numbers = positions[i].numbers();
        if (numbers.size() < 2) positions[i].refuse("has fewer than 2 numbers");
        last = {numbers[0], numbers[1]};
        if (i == 0) first = last;
        vertices_[last].insert(district);
      }
      if (first != last) ring.refuse("is not closed: its last vertex differs from its first");
    }
  }

  std::vector<std::string> names_;
  std::map<std::string, int> places_;
  std::map<std::array<double, 2>, std::set<int>> vertices_;
};

std::vector<DistrictEntry> entries_of_json(const JsonField& root, const std::string& variable) {
  if (const auto type = root.find("type"); type && type->is_text()) {
    if (type->text() != "FeatureCollection") type->refuse("is not FeatureCollection");
    Polygons polygons;
    for (const JsonField& feature : root.at("features").elements()) polygons.add(feature, variable);
    return polygons.entries();
  }
  std::vector<DistrictEntry> entries;
  for (const auto& [name, value] : root.members()) {
    DistrictEntry& entry = entries.emplace_back(DistrictEntry{name, {}});
    if (value.is_object()) {
      for (const auto& [other, element] : value.members()) {
        entry.others.push_back(other);
        entry.values.push_back(element.number());
      }
    } else {
      for (const JsonField& other : value.elements()) entry.others.push_back(district_name(other));
    }
  }
  return entries;
}

struct TextLine {
  std::int64_t number = 0;
  std::vector<std::string> fields;
};

std::vector<TextLine> lines_of_csv(const std::string& path) {
  constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
  const auto source = open_plain(path);
  const CsvDialect dialect = find_dialect(*source, path, buffer_bytes, 0, {}).dialect;
  CsvRowReader reader(*source, path, buffer_bytes, 0, 1, dialect);
  std::vector<TextLine> lines;
  std::string scratch;
  try {
    while (reader.next()) {
      TextLine& line = lines.emplace_back(TextLine{reader.line(), {}});
      for (std::size_t i = 0; i < reader.field_ends().size(); ++i)
        line.fields.emplace_back(base::trimmed(reader.content(i, scratch).text));
      const std::size_t count = line.fields.size();
      if ((count != 2 && count != 3) || count != lines.front().fields.size())
        throw base::input_error(
            "{}, line {}: the line has {}: give two fields (a pair of neighbours) in every line, or "
            "three (row, column and value of an element of a penalty)",
            path, line.number, base::pluralised(count, "field"));
    }
  } catch (const CsvFault& fault) {
    throw base::input_error("{}, line {}: {}", path, reader.line(), fault.reason);
  }
  return lines;
}

/// Whether the first line names the columns: its first two fields are in no other line.
bool has_header(const std::vector<TextLine>& lines) {
  return !std::ranges::any_of(lines.begin() + 1, lines.end(), [&](const TextLine& line) {
    const auto& first = lines.front().fields;
    return std::ranges::any_of(line.fields.begin(), line.fields.begin() + 2, [&](const std::string& field) {
      return field == first[0] || field == first[1];
    });
  });
}

Districts districts_of_csv(const std::string& path) {
  std::vector<TextLine> lines = lines_of_csv(path);
  if (!lines.empty() && has_header(lines)) lines.erase(lines.begin());
  if (lines.empty()) throw base::input_error("{}: the file has no districts: give pairs of neighbours", path);
  std::vector<DistrictEntry> entries;
  std::vector<std::int64_t> numbers;  // line of each district's first occurrence
  std::map<std::string, std::size_t> places;
  const auto entry_of = [&](const std::string& name, std::int64_t number) -> DistrictEntry& {
    const auto [found, is_new] = places.emplace(name, entries.size());
    if (is_new) {
      entries.push_back({name, {}});
      numbers.push_back(number);
    }
    return entries[found->second];
  };
  for (const TextLine& line : lines) {
    const std::string& one = line.fields[0];
    const std::string& other = line.fields[1];
    const auto refuse = [&](std::string_view why) {
      throw base::input_error("{}, line {}: {}", path, line.number, why);
    };
    if (one.empty()) refuse("its first field is empty: give the name of a district");
    entry_of(one, line.number);
    if (line.fields.size() == 2) {
      if (other.empty()) continue;
      entry_of(one, line.number).others.push_back(other);
      entry_of(other, line.number).others.push_back(one);
      continue;
    }
    if (other.empty()) refuse("its second field is empty: give the name of a district");
    const auto value = base::parse_number<double>(line.fields[2]);
    if (!value || !std::isfinite(*value)) refuse(fmt::format("'{}' is not a finite number", line.fields[2]));
    entry_of(other, line.number);
    DistrictEntry& entry = entry_of(one, line.number);
    entry.others.push_back(other);
    entry.values.push_back(*value);
  }
  return districts_of(entries, [&](std::size_t entry, const std::string& fault) {
    throw base::input_error("{}, line {}: {}", path, numbers[entry], fault);
  });
}

Districts districts_of_file(const std::string& path, const std::string& variable) {
  const std::string text = files::read_text(path, files::memory_left());
  if (!base::trimmed(text).starts_with('{')) return districts_of_csv(path);
  const files::JsonFile file =
      files::JsonFile::parsed(text, path, "neighbours, polygons or a penalty of districts", "correct it");
  return districts_of(entries_of_json(file.root(), variable),
                      [&](std::size_t /*entry*/, const std::string& fault) {
                        throw base::input_error("{}: {}", path, fault);
                      });
}

}  // namespace

Districts read_districts(const mpi::Communicator& comm, const std::string& path,
                         const std::string& variable) {
  Districts out;
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> values;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    out = districts_of_file(path, variable);
    for (const Districts::Element& one : out.penalty) {
      rows.push_back(one.row);
      columns.push_back(one.column);
      values.push_back(one.value);
    }
  });
  base::broadcast_values(comm, 0, out.names, rows, columns, values);
  out.penalty.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) out.penalty.push_back({rows[i], columns[i], values[i]});
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
