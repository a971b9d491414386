// SPDX-License-Identifier: Apache-2.0
#include "files/json_file.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include "base/text.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "files/input_file.hpp"

namespace tessera::files {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_levels = 64;

/// A string from the file, quoted and escaped to ASCII.
std::string printable(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// `position` counts from 1.
std::string not_json(std::size_t position) {
  return fmt::format("it is not valid JSON at byte {}", position);
}

/// A SAX handler that builds the document within a memory limit.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::int64_t memory) : memory_(memory) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    charge(value.size() + text_bytes);
    return add(std::move(value));
  }
  bool binary(binary_t&) override { return refuse("it has binary data"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    charge(name.size() + member_bytes);
    const auto [slot, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    member_ = &slot->second;
    return is_new ||
           refuse(fmt::format("it has the field {} twice in one object", printable(name.substr(0, 60))));
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(not_json(position));
  }

  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  // Approximate memory per element in the standard library. An array's storage doubles while it grows.
  static constexpr std::size_t element_bytes = 2 * sizeof(Json);
  static constexpr std::size_t text_bytes = 48;
  static constexpr std::size_t member_bytes = 112;
  static constexpr std::size_t container_bytes = 48;

  void charge(std::size_t bytes) { taken_ += static_cast<std::int64_t>(bytes); }
  bool refuse(std::string why) {
    fault_ = std::move(why);
    return false;
  }
  /// Adds a value to the innermost open container.
  bool add(Json value) { return insert(std::move(value)) != nullptr; }
  Json* insert(Json value) {
    charge(element_bytes);
    if (taken_ > memory_) {
      refuse(fmt::format("reading the file needs more memory than the free {:.3g} GiB",
                         static_cast<double>(memory_) / (1 << 30)));
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array())
      return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
    return &(*member_ = std::move(value));
  }
  bool open(Json container) {
    if (open_.size() == max_levels)
      return refuse(fmt::format("it is nested more than {} levels deep", max_levels));
    charge(container_bytes);
    Json* const made = insert(std::move(container));
    if (made != nullptr) open_.push_back(made);
    return made != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::int64_t memory_;
  std::int64_t taken_ = 0;
  Json root_;
  std::vector<Json*> open_;  ///< containers that are not yet closed; their addresses are stable
  Json* member_ = nullptr;
  std::string fault_;
};

std::string_view kind_of(const Json& value) {
  return value.is_number()   ? "a number"
         : value.is_null()   ? "null"
         : value.is_string() ? "text"
         : value.is_object() ? "an object"
         : value.is_array()  ? "a list"
                             : "true or false";
}

std::string shown(const Json& value) {
  return value.is_number() ? value.dump() : std::string(kind_of(value));
}

/// Depth-first search for `wanted`, compared by address. Appends its path to `path` if found.
bool find_path(const Json& value, const Json& wanted, std::string& path) {
  if (&value == &wanted) return true;
  const std::size_t before = path.size();
  const auto below = [&](const Json& child, const std::string& step) {
    path += step;
    if (find_path(child, wanted, path)) return true;
    path.resize(before);
    return false;
  };
  if (value.is_object()) {
    for (const auto& [name, child] : value.get_ref<const Json::object_t&>())
      if (below(child, before == 0 ? name : '.' + name)) return true;
  } else if (value.is_array()) {
    std::size_t i = 0;
    for (const Json& child : value)
      if (below(child, fmt::format("[{}]", i++))) return true;
  }
  return false;
}

}  // namespace

std::string checksum_of(std::string_view text) {
  return fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::optional<std::string> checksum_of(const base::Descriptor& file) {
  std::vector<char> piece(std::size_t{1} << 20);
  uLong crc = ::crc32_z(0, nullptr, 0);
  for (std::int64_t at = 0;;) {
    const auto got = file.read_at(at, piece);
    if (!got) return std::nullopt;
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), *got);
    if (*got < piece.size()) return fmt::format("{:08x}", crc);
    at += static_cast<std::int64_t>(*got);
  }
}

JsonFile::JsonFile(std::string_view text, std::string name, std::string_view what, std::string_view advice)
    : name_(std::move(name)),
      advice_(advice),
      bytes_(static_cast<std::int64_t>(text.size())),
      checksum_(checksum_of(text)) {
  const auto refuse = [&](const std::string& why) {
    throw base::input_error("{}: is not {}: {}", name_, what, why);
  };
  // The parser would stop at a NUL byte, which JSON does not allow even in strings.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) refuse(not_json(nul + 1));
  Builder builder(memory_left());
  if (!Json::sax_parse(text, &builder)) refuse(builder.fault());
  root_ = std::make_unique<Json>(builder.take());
}
JsonFile::JsonFile(const std::string& path, std::string_view what, std::string_view advice)
    : JsonFile(read_text(path, memory_left()), path, what, advice) {}
JsonFile JsonFile::parsed(std::string_view text, std::string name, std::string_view what,
                          std::string_view advice) {
  return {text, std::move(name), what, advice};
}

JsonFile JsonFile::text_or_file(const std::string& given, std::string name, std::string_view what,
                                std::string_view advice) {
  return base::trimmed(given).starts_with('{') ? parsed(given, std::move(name), what, advice)
                                               : JsonFile(given, what, advice);
}
JsonFile::~JsonFile() = default;
JsonFile::JsonFile(JsonFile&&) noexcept = default;

std::string JsonFile::path_of(const Json& value) const {
  std::string path;
  find_path(*root_, value, path);
  return path;
}

void JsonField::refuse(std::string_view why) const {
  const std::string path = file_->path_of(*value_);
  const std::string& advice = file_->advice_;
  throw base::input_error("{}: is damaged: {}{}{}{}{}", file_->name(), path, path.empty() ? "" : ": ", why,
                          advice.empty() ? "" : ": ", advice);
}

std::optional<JsonField> JsonField::find(std::string_view name) const {
  if (!value_->is_object()) refuse(fmt::format("is {}, not an object", shown(*value_)));
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return JsonField(*file_, *found);
}
JsonField JsonField::at(std::string_view name) const {
  if (!value_->is_object()) refuse(fmt::format("is {}, not an object", shown(*value_)));
  const auto found = value_->find(name);
  if (found == value_->end()) refuse(fmt::format("the field '{}' is missing", name));
  return {*file_, *found};
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value_->is_object()) refuse(fmt::format("is {}, not an object", shown(*value_)));
  std::vector<std::pair<std::string, JsonField>> all;
  for (const auto& [name, value] : value_->items()) all.emplace_back(name, JsonField(*file_, value));
  return all;
}

bool JsonField::is_object() const {
  return value_->is_object();
}
bool JsonField::is_text() const {
  return value_->is_string();
}
bool JsonField::is_number() const {
  return value_->is_number();
}

std::size_t JsonField::size() const {
  if (!value_->is_array()) refuse(fmt::format("is {}, not a list", shown(*value_)));
  return value_->size();
}
void JsonField::require_count(std::size_t count) const {
  if (size() != count) refuse(fmt::format("has {} elements, but needs {}", size(), count));
}
std::vector<JsonField> JsonField::elements() const {
  std::vector<JsonField> all;
  all.reserve(size());
  for (const Json& value : *value_) all.emplace_back(*file_, value);
  return all;
}
std::vector<JsonField> JsonField::elements(std::size_t count) const {
  require_count(count);
  return elements();
}

const std::string& JsonField::text() const {
  if (!value_->is_string()) refuse(fmt::format("is {}, not text", shown(*value_)));
  return value_->get_ref<const std::string&>();
}
bool JsonField::truth() const {
  if (!value_->is_boolean()) refuse(fmt::format("is {}, not true or false", shown(*value_)));
  return value_->get<bool>();
}
double JsonField::number() const {
  // The parser has rejected numbers beyond the range of doubles.
  if (!value_->is_number()) refuse(fmt::format("is {}, not a number", shown(*value_)));
  return value_->get<double>();
}
double JsonField::number_or_nan() const {
  return value_->is_null() ? std::numeric_limits<double>::quiet_NaN() : number();
}
std::int64_t JsonField::whole_from(std::int64_t least, std::int64_t most) const {
  const bool fits =
      value_->is_number_integer() &&
      (!value_->is_number_unsigned() || std::in_range<std::int64_t>(value_->get<std::uint64_t>()));
  if (!fits || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most)
    refuse(fmt::format("is {}, not a whole number from {} to {}", shown(*value_), least, most));
  return value_->get<std::int64_t>();
}
std::size_t JsonField::index_below(std::size_t size) const {
  if (size == 0) refuse("must not be an index, because the list is empty");
  return static_cast<std::size_t>(whole_from(0, static_cast<std::int64_t>(size) - 1));
}

std::vector<double> JsonField::numbers() const {
  std::vector<double> all;
  all.reserve(size());
  for (const Json& value : *value_) all.push_back(JsonField(*file_, value).number());
  return all;
}
std::vector<double> JsonField::numbers(std::size_t count) const {
  require_count(count);
  return numbers();
}
std::vector<double> JsonField::numbers_or_nan() const {
  std::vector<double> all;
  all.reserve(size());
  for (const Json& value : *value_) all.push_back(JsonField(*file_, value).number_or_nan());
  return all;
}
std::vector<std::string> JsonField::texts() const {
  std::vector<std::string> all;
  all.reserve(size());
  for (const Json& value : *value_) all.push_back(JsonField(*file_, value).text());
  return all;
}

}  // namespace tessera::files
