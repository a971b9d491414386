// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON that anyone may have written: nothing in it is believed. A field is taken with its type and range,
/// and one that has another is an `Error(input)` of one line that names the file, the field and what it must
/// be:
///
///     model.json: is damaged: design.blocks[2].map.rows: is -1, and not a whole number from 0 to 2147483647
namespace tessera::files {

class JsonFile;

/// A value of a `JsonFile`, which must outlive it. Every member but `find` throws `Error(input)` if the value
/// is not what it is asked for.
class JsonField {
 public:
  JsonField(const JsonFile& file, const nlohmann::json& value) noexcept : file_(&file), value_(&value) {}

  /// A member of an object; `find` has nothing for one that is absent or null.
  [[nodiscard]] JsonField at(std::string_view name) const;
  [[nodiscard]] std::optional<JsonField> find(std::string_view name) const;

  /// Elements of an array.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<JsonField> elements() const;
  /// The elements of an array that has `count` of them.
  [[nodiscard]] std::vector<JsonField> elements(std::size_t count) const;

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool truth() const;
  /// A finite number.
  [[nodiscard]] double number() const;
  /// JSON has no infinities and no NaN: null stands for them, and is NaN here.
  [[nodiscard]] double number_or_nan() const;
  /// A whole number of this range.
  template <std::signed_integral Integer = int>
  [[nodiscard]] Integer whole(Integer least = 0, Integer most = std::numeric_limits<Integer>::max()) const {
    return static_cast<Integer>(whole_from(least, most));
  }
  /// A place among `size` things.
  [[nodiscard]] std::size_t index_below(std::size_t size) const;

  [[nodiscard]] std::vector<double> numbers() const;
  [[nodiscard]] std::vector<double> numbers(std::size_t count) const;
  [[nodiscard]] std::vector<double> numbers_or_nan() const;
  [[nodiscard]] std::vector<std::string> texts() const;

  /// Throws `Error(input)`: the file is damaged here. `why` goes on after the field's name.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  [[nodiscard]] std::int64_t whole_from(std::int64_t least, std::int64_t most) const;
  void require_count(std::size_t count) const;

  const JsonFile* file_;
  const nlohmann::json* value_;
};

/// The whole of a JSON text, with the name that errors give it.
///
/// While it is read, what it takes of memory is counted, and held against what is left: `[[],[],…` takes
/// twenty times its own size. What is nested over 64 levels deep, or has a field twice, is refused.
class JsonFile {
 public:
  /// Reads a file; `what` it should be, as "a model that tessera-fit wrote". Throws `Error(input)` as
  /// `read_text` does, and for what is no JSON, with the byte.
  JsonFile(const std::string& path, std::string_view what);
  /// The same of a text.
  [[nodiscard]] static JsonFile parsed(std::string_view text, std::string name, std::string_view what);
  ~JsonFile();
  JsonFile(JsonFile&&) noexcept;
  JsonFile& operator=(JsonFile&&) = delete;

  [[nodiscard]] JsonField root() const noexcept { return {*this, *root_}; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Size of the text, which bounds what a count in it may stand for.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// CRC-32 of the text, as eight hexadecimal digits: tells a file from another, and is no signature.
  [[nodiscard]] const std::string& checksum() const noexcept { return checksum_; }

 private:
  friend class JsonField;
  JsonFile(std::string_view text, std::string name, std::string_view what);
  /// The field of a value: "design.blocks[2].map".
  [[nodiscard]] std::string path_of(const nlohmann::json& value) const;

  std::unique_ptr<nlohmann::json> root_;
  std::string name_;
  std::int64_t bytes_ = 0;
  std::string checksum_;
};

/// The checksum of a text as `JsonFile::checksum` has it.
[[nodiscard]] std::string checksum_of(std::string_view text);

}  // namespace tessera::files
