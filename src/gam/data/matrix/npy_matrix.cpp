// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "gam/data/matrix/stored_matrix.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

/// `type`: NumPy's text, such as "<f8". Nothing for another byte order.
std::optional<NumberForm> npy_form(std::string_view type) {
  const std::pair<std::string_view, NumberForm> forms[]{
      {"f8", form_of<double>()},        {"f4", form_of<float>()},        {"i1", form_of<std::int8_t>()},
      {"u1", form_of<std::uint8_t>()},  {"b1", form_of<std::uint8_t>()}, {"i2", form_of<std::int16_t>()},
      {"u2", form_of<std::uint16_t>()}, {"i4", form_of<std::int32_t>()}, {"u4", form_of<std::uint32_t>()},
      {"i8", form_of<std::int64_t>()},  {"u8", form_of<std::uint64_t>()}};
  const std::string_view native = std::endian::native == std::endian::little ? "<" : ">";
  if (type.size() != 3 || (type[0] != '|' && type.substr(0, 1) != native)) return std::nullopt;
  for (const auto& [name, form] : forms) {
    if (type.substr(1) == name) return form;
  }
  return std::nullopt;
}

/// The text after a key of the header, a Python dictionary such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (60, 9), }; empty: the key is absent.
std::string_view after_key(std::string_view header, std::string_view key) {
  const auto place = header.find(key);
  if (place == std::string_view::npos) return {};
  const auto value = header.find_first_not_of(": ", place + key.size());
  return value == std::string_view::npos ? std::string_view() : header.substr(value);
}

/// Nothing if the text is not a tuple of numbers.
std::optional<std::vector<std::int64_t>> numbers_of_tuple(std::string_view text) {
  std::vector<std::int64_t> numbers;
  if (!text.starts_with('(')) return std::nullopt;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of("(, "), text.size()));
    if (text.starts_with(')')) return numbers;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

}  // namespace

NpyMatrix open_npy(const std::string& path) {
  auto file = std::make_shared<const files::InputFile>(path);
  const auto refuse = [&](const std::string& why) -> Error {
    return base::input_error("{}: {}: write it by numpy.save", path, why);
  };
  // Magic, version, the header's length in 2 or 4 bytes, and the header.
  constexpr std::int64_t most_header = 1 << 16;
  std::string begin(most_header, '\0');
  begin.resize(file->read_at(0, begin));
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(begin[i]); };
  constexpr std::size_t least = 12;
  if (begin.size() < least || !begin.starts_with(npy_magic))
    throw refuse("does not begin with the signature of a NumPy array");
  const bool long_length = byte(6) > 1;
  const std::size_t header_begin = long_length ? 12 : 10;
  std::size_t length = byte(8) + 256U * byte(9);
  if (long_length) length += 65536U * byte(10) + 16777216U * byte(11);
  if (length > begin.size() - header_begin) throw refuse("its header is truncated");
  const std::string_view header = std::string_view(begin).substr(header_begin, length);
  const std::string_view type = after_key(header, "'descr'");
  const auto shape = numbers_of_tuple(after_key(header, "'shape'"));
  const std::string_view order = after_key(header, "'fortran_order'");
  if (type.empty() || !shape || order.empty()) throw refuse("its header is damaged");
  // A type of numbers is a text in quotes; a record type is a list.
  const std::string_view quoted =
      type.starts_with('\'') ? type.substr(1, type.find('\'', 1) - 1) : std::string_view("a record");
  const auto form = npy_form(quoted);
  if (!form)
    throw base::input_error(
        "{}: has values of type {}, but a matrix of responses has numbers in this machine's byte order: "
        "write it by numpy.save(FILE, X.astype('float64'))",
        path, quoted);
  if (shape->size() != 2)
    throw base::input_error("{}: has {} dimensions, but a matrix of responses has two: reshape it", path,
                            shape->size());
  NpyMatrix matrix{.stored = nullptr, .is_transposed = order.starts_with("True")};
  PlainNumbers numbers{.file = file,
                       .name = path,
                       .offset = static_cast<std::int64_t>(header_begin + length),
                       .form = *form,
                       .rows = shape->front(),
                       .columns = shape->back()};
  const std::int64_t values = file->size() - numbers.offset;
  if (numbers.columns != 0 &&
      numbers.rows > values / numbers.columns / static_cast<std::int64_t>(form->bytes))
    throw base::input_error(
        "{}: has {} bytes of values, fewer than {} x {} of {} bytes, so it is truncated: write it again",
        path, values, numbers.rows, numbers.columns, form->bytes);
  if (matrix.is_transposed) std::swap(numbers.rows, numbers.columns);
  matrix.stored = plain_matrix(std::move(numbers));
  return matrix;
}

}  // namespace TESSERA_NAMESPACE::gam
