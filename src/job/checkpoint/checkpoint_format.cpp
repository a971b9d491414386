// SPDX-License-Identifier: Apache-2.0
#include "job/checkpoint/checkpoint_format.hpp"

#include "base/hash.hpp"
#include "base/number.hpp"
#include "base/pack.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

constexpr int version = 1;

std::string first_line() {
  return std::string(checkpoint_magic) + std::to_string(version) + '\n';
}

std::string checksum_line(std::string_view body) {
  return base::hex(base::fnv1a(body, base::fnv1a(first_line()))) + '\n';
}

CheckpointRefusal torn() {
  return {CheckpointRefusal::Kind::torn, "is damaged or incomplete"};
}

/// The refusal of a file that does not begin with this version's first line.
CheckpointRefusal other_beginning(std::string_view bytes) {
  if (first_line().starts_with(bytes)) return torn();
  if (!bytes.starts_with(checkpoint_magic))
    return {CheckpointRefusal::Kind::foreign, "is not a checkpoint: give the name of another file"};
  bytes.remove_prefix(checkpoint_magic.size());
  const auto found = base::take_number<int>(bytes);
  if (!found || !bytes.starts_with('\n') || *found <= version) return torn();
  return {CheckpointRefusal::Kind::newer,
          "is of format " + std::to_string(*found) + ", but this program reads formats up to " +
              std::to_string(version) + ": use the program that wrote it, or remove the file"};
}

/// For messages: one line, truncated.
std::string in_quotes(std::string_view value) {
  constexpr std::size_t shown = 120;
  std::string text(value.substr(0, shown));
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return '"' + text + (value.size() > shown ? "…\"" : "\"");
}

/// For messages: the entries that differ, with both values.
std::string changed_fingerprint_entries(const Fingerprint& there, const Fingerprint& here) {
  const auto value_in = [](const Fingerprint& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, &Fingerprint::value_type::first);
    return found == all.end() ? std::string("not given") : in_quotes(found->second);
  };
  std::string text;
  const auto add = [&](const std::string& name) {
    if (!text.empty()) text += ", ";
    text += name + " is " + value_in(there, name) + " there and " + value_in(here, name) + " here";
  };
  for (const auto& [name, value] : here) {
    if (value_in(there, name) != value_in(here, name)) add(name);
  }
  for (const auto& [name, value] : there) {
    if (std::ranges::find(here, name, &Fingerprint::value_type::first) == here.end()) add(name);
  }
  return text.empty() ? "the order of its entries" : text;
}

}  // namespace

std::string pack_checkpoint(const StoredState& stored, const Fingerprint& fingerprint) {
  std::string body;
  const auto append = [&body](std::string_view text) { base::pack(body, text, base::lines); };
  append(std::to_string(stored.generation));
  append(std::to_string(fingerprint.size()));
  for (const auto& [name, value] : fingerprint) {
    append(name);
    append(value);
  }
  append(stored.state);
  return first_line() + checksum_line(body) + body;
}

std::variant<StoredState, CheckpointRefusal> unpack_checkpoint(std::string_view bytes,
                                                               const Fingerprint& expected) {
  if (!bytes.starts_with(first_line())) return other_beginning(bytes);
  bytes.remove_prefix(first_line().size());
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return torn();
  const std::string_view checksum = bytes.substr(0, line + 1);
  bytes.remove_prefix(line + 1);
  if (checksum != checksum_line(bytes)) return torn();

  // Validates the values too, because a checksum does not protect against forged files.
  const auto number = [](std::string_view text) { return base::take_number<std::int64_t>(text).value_or(0); };
  const auto take = [](std::string_view& rest) { return base::unpack(rest, base::lines); };
  StoredState stored;
  Fingerprint found;
  const auto generation = take(bytes);
  const auto names = take(bytes);
  if (!generation || !names) return torn();
  stored.generation = number(*generation);
  if (stored.generation < 0 || stored.generation > last_generation) return torn();
  for (std::int64_t i = 0; i < number(*names); ++i) {
    const auto name = take(bytes);
    const auto value = take(bytes);
    if (!name || !value) return torn();
    found.emplace_back(*name, *value);
  }
  if (found != expected)
    return CheckpointRefusal{
        CheckpointRefusal::Kind::foreign,
        "belongs to a different computation: " + changed_fingerprint_entries(found, expected) +
            "; give the name of another file, or remove this file"};
  const auto state = take(bytes);
  if (!state || !bytes.empty()) return torn();
  stored.state = *state;
  return stored;
}

}  // namespace TESSERA_NAMESPACE
