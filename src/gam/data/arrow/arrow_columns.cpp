// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_columns.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "gam/data/frame/frame_part.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

}  // namespace

ArrowColumns::ArrowColumns(ArrowBatches batches, const ArrowOptions& options, HostTeam& team)
    : from_(std::move(batches)) {
  choose_columns(options);
  for (std::size_t b = 0; b < from_.batches.size(); ++b) {
    check_batch(*from_.batches[b], b + 1);
    rows_ += from_.batches[b]->length;
  }
  for (Column& column : columns_) column.parts.resize(from_.batches.size());
  for_each_part(team, [&](const Column& column, std::size_t b, ArrowPart& part) {
    read_part(column, *from_.batches[b], fmt::format("{}, batch {}", quoted_column(column.name), b + 1),
              part);
  });
  for (Column& column : columns_) {
    if (column.given || !column.factor()) continue;
    std::unordered_map<std::string_view, std::size_t> known;
    for (const ArrowPart& part : column.parts) {
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
    refuse_arrow(ErrorCode::input, "its schema has the format '{}', but record batches have '+s'",
                 schema.format == nullptr ? "" : printable(schema.format));
  if (schema.n_children < 0 || schema.n_children > static_cast<std::int64_t>(max_columns) ||
      (schema.n_children > 0 && schema.children == nullptr))
    refuse_arrow(ErrorCode::input, "its schema has {} columns, which is impossible", schema.n_children);
  std::vector<std::string> names;
  for (std::int64_t place = 0; place < schema.n_children; ++place) {
    const ArrowSchema* const child = schema.children[place];
    if (child == nullptr || child->release == nullptr)
      refuse_arrow(ErrorCode::input, "column {} of its schema is a null pointer, or was released", place + 1);
    names.emplace_back(child->name == nullptr ? "" : child->name);
    const bool taken =
        options.columns.empty() || std::ranges::find(options.columns, names.back()) != options.columns.end();
    if (!taken) continue;
    columns_.push_back({arrow_column(schema, place)});
    Column& column = columns_.back();
    if (column.coded() && options.keep_dictionary_order) column.order = LevelOrder::given;
    if (column.ordered) column.order = LevelOrder::ordered;
  }
  const auto find = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end())
      refuse_arrow(ErrorCode::usage, "it has no column '{}'{}", printable(name),
                   base::names_like(names, name));
    return std::ranges::find(columns_, name, &Column::name);
  };
  for (const std::string& name : options.columns) find(name);
  for (const auto& [name, levels] : options.levels) {
    const auto column = find(name);
    if (column == columns_.end()) continue;
    if (!column->factor())
      refuse_arrow(ErrorCode::usage,
                   "{} has numbers, but levels are declared for this column: leave the levels out",
                   quoted_column(name));
    column->levels = levels;
    column->given = true;
    if (!column->ordered) column->order = LevelOrder::given;
  }
}

void ArrowColumns::check_batch(const ArrowArray& batch, std::size_t number) const {
  const auto refuse = [&](const std::string& fault) {
    refuse_arrow(ErrorCode::input, "batch {} {}", number, fault);
  };
  if (batch.length < 0 || batch.offset < 0 || batch.length > most_arrow_rows ||
      batch.offset > most_arrow_rows || rows_ > most_arrow_rows)
    refuse(fmt::format(
        "has the length {} and the offset {}: give lengths, offsets and a number of rows from 0 to 2^40",
        batch.length, batch.offset));
  if (batch.n_children > 0 && batch.children == nullptr) refuse("has a null pointer for its columns");
  if (batch.n_children != from_.schema->n_children)
    refuse(fmt::format("has {} columns, but the schema has {}", batch.n_children, from_.schema->n_children));
  if (batch.n_buffers != 1 || batch.buffers == nullptr)
    refuse(fmt::format("has {} buffers, but a record batch needs one buffer", batch.n_buffers));
  const auto* const validity = static_cast<const unsigned char*>(batch.buffers[0]);
  if (batch.null_count == 0 || validity == nullptr) return;
  for (std::int64_t i = batch.offset; i < batch.offset + batch.length; ++i) {
    if ((validity[i / 8] >> (i % 8) & 1) == 0)
      refuse("has a null row: leave the row out, or make the values of the row null");
  }
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
    if (column.levels.size() > max_levels) refuse_many_texts(quoted_column(column.name));
  }
  std::vector<std::unordered_map<std::string_view, std::int32_t>> code_of(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const std::string& level : columns_[c].levels)
      code_of[c].emplace(level, static_cast<std::int32_t>(code_of[c].size()));
  }
  for_each_part(team, [&](const Column& column, std::size_t batch, ArrowPart& part) {
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
    refuse_arrow(ErrorCode::input,
                 "{}, batch {}: its ordered dictionary has another order of levels than earlier "
                 "dictionaries: use one dictionary for all batches",
                 quoted_column(column.name), batch + 1);
}

void ArrowColumns::recode(std::span<const std::int32_t> to, ArrowPart& part) {
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
    FactorSpans factor{.codes = {}, .levels = column.levels, .order = column.order};
    for (const ArrowPart& part : column.parts) {
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
