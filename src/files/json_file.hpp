// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads untrusted JSON. Callers state the type and range of each field. Other values throw an `Error(input)`
/// that names the file, the field and the expected type:
///
///     model.json: is damaged: design.blocks[2].map.rows: is -1, not a whole number from 0 to 2147483647
namespace tessera::files {

class JsonFile;

/// A value of a `JsonFile`; the file must outlive it. Members throw `Error(input)` if the value does not have
/// the requested type; only `is_object`, `is_text` and `is_number` do not throw.
class JsonField {
 public:
  JsonField(const JsonFile& file, const nlohmann::json& value) noexcept : file_(&file), value_(&value) {}

  /// A member of an object. If the member is absent, `at` throws; if it is absent or null, `find` returns
  /// nothing.
  [[nodiscard]] JsonField at(std::string_view name) const;
  [[nodiscard]] std::optional<JsonField> find(std::string_view name) const;

  [[nodiscard]] std::vector<std::pair<std::string, JsonField>> members() const;

  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_number() const;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<JsonField> elements() const;
  /// Also throws unless the array has `count` elements.
  [[nodiscard]] std::vector<JsonField> elements(std::size_t count) const;

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] double number() const;
  /// A number, or NaN for null: JSON has no infinities and no NaN.
  [[nodiscard]] double number_or_nan() const;
  /// An integer from `least` to `most`.
  template <std::signed_integral Integer = int>
  [[nodiscard]] Integer whole(Integer least = 0, Integer most = std::numeric_limits<Integer>::max()) const {
    return static_cast<Integer>(whole_from(least, most));
  }
  [[nodiscard]] std::size_t index_below(std::size_t size) const;

  [[nodiscard]] std::vector<double> numbers() const;
  [[nodiscard]] std::vector<double> numbers(std::size_t count) const;
  [[nodiscard]] std::vector<double> numbers_or_nan() const;
  [[nodiscard]] std::vector<std::string> texts() const;

  /// Throws `Error(input)`: the file is damaged at this value. `why` follows the field's name in the message.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  [[nodiscard]] std::int64_t whole_from(std::int64_t least, std::int64_t most) const;
  void require_count(std::size_t count) const;

  const JsonFile* file_;
  const nlohmann::json* value_;
};

/// A parsed JSON document, with its name for messages.
///
/// Parsing fails if the document exceeds the available memory: `[[],[],…` needs twenty times the text's size.
/// Nesting of more than 64 levels and duplicate fields are rejected.
class JsonFile {
 public:
  /// Reads a file. `what` is the expected content, e.g. "a model that tessera-fit wrote"; `advice` ends the
  /// messages about damaged fields, e.g. "restore it". Throws `Error(input)` like `read_text`, and for text
  /// that is not JSON, with the byte position of the error.
  JsonFile(const std::string& path, std::string_view what, std::string_view advice = {});
  [[nodiscard]] static JsonFile parsed(std::string_view text, std::string name, std::string_view what,
                                       std::string_view advice = {});
  /// Parses an option's value: JSON text if it begins with '{', else the path of a file.
  [[nodiscard]] static JsonFile text_or_file(const std::string& given, std::string name,
                                             std::string_view what, std::string_view advice = {});
  ~JsonFile();
  JsonFile(JsonFile&&) noexcept;
  JsonFile& operator=(JsonFile&&) = delete;

  [[nodiscard]] JsonField root() const noexcept { return {*this, *root_}; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Size of the text, an upper bound for counts of elements.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// CRC-32 of the text, as eight hexadecimal digits. It detects accidental differences, not forgery.
  [[nodiscard]] const std::string& checksum() const noexcept { return checksum_; }

 private:
  friend class JsonField;
  JsonFile(std::string_view text, std::string name, std::string_view what, std::string_view advice);
  /// The path of a value: "design.blocks[2].map".
  [[nodiscard]] std::string path_of(const nlohmann::json& value) const;

  std::unique_ptr<nlohmann::json> root_;
  std::string name_;
  std::string advice_;
  std::int64_t bytes_ = 0;
  std::string checksum_;
};

/// CRC-32, like `JsonFile::checksum`.
[[nodiscard]] std::string checksum_of(std::string_view text);
/// Empty if the file cannot be read.
[[nodiscard]] std::optional<std::string> checksum_of(const base::Descriptor& file);

}  // namespace tessera::files
