// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_columns.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/go_on.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/frame/level_cache.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using Kind = ArrowType::Kind;

/// Values between two checks for a request to stop.
constexpr std::size_t values_between_questions = std::size_t{1} << 16;

std::string named(const std::string& column) {
  return fmt::format("the column '{}'", printable(column));
}

[[noreturn]] void refuse_many(const std::string& what) {
  refuse_arrow(
      ErrorCode::input,
      fmt::format(
          "{} has more than {} distinct texts, and a factor has a coefficient for each: leave the column out",
          what, max_levels));
}

/// Calls `use(T{})` for the C++ type of an Arrow type's numbers.
template <class Use>
void with_numbers_of(const ArrowType& type, const Use& use) {
  if (type.kind == Kind::real) return type.bytes == 4 ? use(float{}) : use(double{});
  const bool is_signed = type.kind == Kind::integer;
  switch (type.bytes) {
    case 1: return is_signed ? use(std::int8_t{}) : use(std::uint8_t{});
    case 2: return is_signed ? use(std::int16_t{}) : use(std::uint16_t{});
    case 4: return is_signed ? use(std::int32_t{}) : use(std::uint32_t{});
    default: return is_signed ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

}  // namespace

ArrowColumns::ArrowColumns(ArrowBatches batches, const ArrowOptions& options, HostTeam& team)
    : from_(std::move(batches)) {
  choose_columns(options);
  for (std::size_t b = 0; b < from_.batches.size(); ++b) {
    check_batch(*from_.batches[b], b + 1);
    rows_ += from_.batches[b]->length;
  }
  for (Column& column : columns_) column.parts.resize(from_.batches.size());
  for_each_part(team, [&](const Column& column, std::size_t b, Part& part) {
    read(column, *from_.batches[b], fmt::format("{}, batch {}", named(column.name), b + 1), part);
  });
  for (Column& column : columns_) {
    if (column.given || !column.factor()) continue;
    std::unordered_map<std::string_view, std::size_t> known;
    for (const Part& part : column.parts) {
      for (const auto& text : part.texts) {
        if (text && known.emplace(*text, known.size()).second) column.levels.emplace_back(*text);
      }
    }
  }
}

template <class Work>
void ArrowColumns::for_each_part(HostTeam& team, const Work& work) {
  const std::int64_t batches = std::ssize(from_.batches);
  team.for_each_block({0, std::ssize(columns_) * batches}, 1, [&](int /*thread*/, Range one) {
    Column& column = columns_[at(one.begin / batches)];
    const std::size_t batch = at(one.begin % batches);
    work(column, batch, column.parts[batch]);
  });
}

void ArrowColumns::choose_columns(const ArrowOptions& options) {
  const ArrowSchema& schema = *from_.schema;
  if (schema.format == nullptr || std::string_view(schema.format) != "+s")
    refuse_arrow(ErrorCode::input, fmt::format("its schema has the format '{}', but record batches have '+s'",
                                               schema.format == nullptr ? "" : printable(schema.format)));
  if (schema.n_children < 0 || schema.n_children > static_cast<std::int64_t>(max_columns) ||
      (schema.n_children > 0 && schema.children == nullptr))
    refuse_arrow(ErrorCode::input,
                 fmt::format("its schema has {} columns, which is impossible", schema.n_children));
  std::vector<std::string> names;
  for (std::int64_t place = 0; place < schema.n_children; ++place) {
    const ArrowSchema* const child = schema.children[place];
    if (child == nullptr || child->release == nullptr)
      refuse_arrow(ErrorCode::input,
                   fmt::format("column {} of its schema is a null pointer, or was released", place + 1));
    names.emplace_back(child->name == nullptr ? "" : child->name);
    const bool taken =
        options.columns.empty() || std::ranges::find(options.columns, names.back()) != options.columns.end();
    if (taken) columns_.push_back(column_of(place, names.back()));
  }
  const auto find = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end())
      refuse_arrow(ErrorCode::usage,
                   fmt::format("it has no column '{}'{}", printable(name), base::did_you_mean(names, name)));
    return std::ranges::find(columns_, name, &Column::name);
  };
  for (const std::string& name : options.columns) find(name);
  for (const auto& [name, levels] : options.levels) {
    const auto column = find(name);
    if (column == columns_.end()) continue;
    if (!column->factor())
      refuse_arrow(ErrorCode::usage,
                   fmt::format("{} has numbers, but is given levels: leave the levels out", named(name)));
    column->levels = levels;
    column->given = true;
  }
}

ArrowColumns::Column ArrowColumns::column_of(std::int64_t place, const std::string& name) const {
  const ArrowSchema& schema = *from_.schema->children[place];
  Column column{.name = name, .place = place, .schema = &schema, .type = arrow_type(schema, named(name))};
  if (column.coded()) {
    column.dictionary = arrow_type(*schema.dictionary, "the dictionary of " + named(name));
    column.ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
    if (!column.type.is_integer() || !column.dictionary.is_text())
      refuse_arrow(ErrorCode::input,
                   fmt::format("{} has a dictionary of the format '{}' with indices of the "
                               "format '{}': only texts with integer indices are read: cast it, or "
                               "leave the column out",
                               named(name), printable(schema.dictionary->format), printable(schema.format)));
  }
  return column;
}

void ArrowColumns::check_batch(const ArrowArray& batch, std::size_t number) const {
  const auto refuse = [&](const std::string& fault) {
    refuse_arrow(ErrorCode::input, fmt::format("batch {} {}", number, fault));
  };
  if (batch.length < 0 || batch.offset < 0 || batch.length > most_arrow_rows ||
      batch.offset > most_arrow_rows || rows_ > most_arrow_rows)
    refuse(fmt::format(
        "has the length {} and the offset {}: both must be 0 to 2^40, as must be the rows of the table",
        batch.length, batch.offset));
  if (batch.n_children != from_.schema->n_children || (batch.n_children > 0 && batch.children == nullptr))
    refuse(fmt::format("has {} columns, but the schema has {}", batch.n_children, from_.schema->n_children));
  if (batch.n_buffers != 1 || batch.buffers == nullptr)
    refuse(fmt::format("has {} buffers of its own, but needs one", batch.n_buffers));
  const auto* const validity = static_cast<const unsigned char*>(batch.buffers[0]);
  if (batch.null_count == 0 || validity == nullptr) return;
  for (std::int64_t i = batch.offset; i < batch.offset + batch.length; ++i) {
    if ((validity[i / 8] >> (i % 8) & 1) == 0)
      refuse("has a null row: leave the row out, or make its values null");
  }
}

void ArrowColumns::read(const Column& column, const ArrowArray& batch, const std::string& what, Part& part) {
  const ArrowArray* const array = batch.children[column.place];
  if (array == nullptr) refuse_arrow(ErrorCode::input, what + ": its array is a null pointer");
  if ((array->dictionary != nullptr) != column.coded())
    refuse_arrow(ErrorCode::input, fmt::format("{}: its array has {} dictionary, unlike its schema", what,
                                               column.coded() ? "no" : "a"));
  const ArrowValues values(*array, column.type, batch.offset, batch.length, what);
  if (column.coded())
    read_codes(column, *array, values, what, part);
  else if (column.type.is_text())
    read_texts(values, what, part);
  else if (column.type.kind == Kind::boolean)
    read_truths(values, part);
  else
    read_numbers(column.type, values, part);
}

void ArrowColumns::read_numbers(const ArrowType& type, const ArrowValues& values, Part& part) {
  if (type.kind == Kind::real && type.bytes == sizeof(double) && !values.has_nulls()) {
    part.numbers = values.in_place<double>();
    if (part.numbers.size() == values.size()) return;
  }
  part.own_numbers.resize(values.size());
  with_numbers_of(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i)
      part.own_numbers[i] = static_cast<double>(values.number<T>(i)) / type.per_unit;
  });
  for (std::size_t i = 0; values.has_nulls() && i < values.size(); ++i) {
    if (values.is_null(i)) part.own_numbers[i] = std::numeric_limits<double>::quiet_NaN();
  }
  part.numbers = part.own_numbers;
}

void ArrowColumns::read_truths(const ArrowValues& values, Part& part) {
  part.texts = {"FALSE", "TRUE"};
  part.own_codes.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    part.own_codes[i] = values.is_null(i) ? Variable::missing : static_cast<std::int32_t>(values.truth(i));
  part.codes = part.own_codes;
}

void ArrowColumns::read_texts(const ArrowValues& values, const std::string& what, Part& part) {
  std::unordered_map<std::string_view, std::int32_t> code_of;
  const auto cache = std::make_unique<LevelCache<std::int32_t>>();
  part.own_codes.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % values_between_questions == 0) base::go_on();
    std::int32_t& code = part.own_codes[i];
    code = Variable::missing;
    if (values.is_null(i)) continue;
    const std::string_view text = values.text(i);
    if (const std::int32_t* const cached = cache->find(text)) {
      code = *cached;
      continue;
    }
    const auto [found, is_new] = code_of.emplace(text, static_cast<std::int32_t>(code_of.size()));
    if (is_new) {
      if (part.texts.size() == max_levels) refuse_many(what);
      part.texts.emplace_back(text);
    }
    code = found->second;
    cache->keep(text, code);
  }
  part.codes = part.own_codes;
}

void ArrowColumns::read_codes(const Column& column, const ArrowArray& array, const ArrowValues& values,
                              const std::string& what, Part& part) {
  const std::string of_dictionary = what + ", its dictionary";
  const ArrowArray& dictionary = *array.dictionary;
  if (dictionary.length > static_cast<std::int64_t>(max_levels)) refuse_many(of_dictionary);
  const ArrowValues texts(dictionary, column.dictionary, 0, std::max<std::int64_t>(dictionary.length, 0),
                          of_dictionary);
  for (std::size_t i = 0; i < texts.size(); ++i)
    part.texts.push_back(texts.is_null(i) ? std::nullopt : std::optional(texts.text(i)));
  with_numbers_of(column.type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const bool as_they_are = std::is_same_v<T, std::int32_t> && !values.has_nulls() &&
                               values.in_place<T>().size() == values.size();
      if (!as_they_are) part.own_codes.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % values_between_questions == 0) base::go_on();
        const bool null = values.is_null(i);
        const T index = values.number<T>(i);
        if (!null && (std::cmp_less(index, 0) || std::cmp_greater_equal(index, texts.size())))
          refuse_arrow(ErrorCode::input,
                       fmt::format("{}: value {} is entry {} of a dictionary that has {} (the first is 0)",
                                   what, i + 1, index, texts.size()));
        if (!as_they_are) part.own_codes[i] = null ? Variable::missing : static_cast<std::int32_t>(index);
      }
      if constexpr (std::is_same_v<T, std::int32_t>) {
        if (as_they_are) part.codes = values.in_place<T>();
      }
      if (!as_they_are) part.codes = part.own_codes;
    }
  });
}

std::vector<ArrowColumns::Levels> ArrowColumns::levels() const {
  std::vector<Levels> all;
  for (const Column& column : columns_) {
    if (column.factor()) all.push_back({column.name, column.levels});
  }
  return all;
}

void ArrowColumns::set_levels(std::vector<Levels> levels, HostTeam& team) {
  auto next = levels.begin();
  for (Column& column : columns_) {
    if (!column.factor()) continue;
    column.levels = std::move(next++->levels);
    if (column.levels.size() > max_levels) refuse_many(named(column.name));
  }
  std::vector<std::unordered_map<std::string_view, std::int32_t>> code_of(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const std::string& level : columns_[c].levels)
      code_of[c].emplace(level, static_cast<std::int32_t>(code_of[c].size()));
  }
  for_each_part(team, [&](const Column& column, std::size_t batch, Part& part) {
    std::vector<std::int32_t> to;
    for (const auto& text : part.texts) {
      const auto& known = code_of[static_cast<std::size_t>(&column - columns_.data())];
      const auto found = text ? known.find(*text) : known.end();
      to.push_back(found == known.end() ? Variable::missing : found->second);
    }
    if (column.ordered && !column.given) check_order(column, batch, to);
    recode(to, part);
    part.texts = {};
  });
}

void ArrowColumns::check_order(const Column& column, std::size_t batch, std::vector<std::int32_t> codes) {
  std::erase(codes, Variable::missing);
  if (!std::ranges::is_sorted(codes))
    refuse_arrow(
        ErrorCode::input,
        fmt::format("{}, batch {}: its ordered dictionary contradicts earlier ones: use one dictionary",
                    named(column.name), batch + 1));
}

void ArrowColumns::recode(std::span<const std::int32_t> to, Part& part) {
  std::size_t same = 0;
  while (same < to.size() && to[same] == static_cast<std::int32_t>(same)) ++same;
  if (same == to.size()) return;
  if (part.own_codes.size() < part.codes.size()) part.own_codes.assign(part.codes.begin(), part.codes.end());
  for (std::int32_t& code : part.own_codes) {
    if (code >= 0) code = to[at(code)];
  }
  part.codes = part.own_codes;
}

std::vector<Table::Column> ArrowColumns::columns() const {
  std::vector<Table::Column> out;
  for (const Column& column : columns_) {
    NumberSpans numbers;
    FactorSpans factor{.codes = {},
                       .levels = column.levels,
                       .order = column.ordered ? LevelOrder::ordered
                                : column.given ? LevelOrder::given
                                               : LevelOrder::sorted};
    for (const Part& part : column.parts) {
      numbers.pieces.push_back(part.numbers);
      factor.codes.push_back(part.codes);
    }
    if (column.factor())
      out.push_back({column.name, std::move(factor)});
    else
      out.push_back({column.name, std::move(numbers)});
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
