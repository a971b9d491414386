// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Structures of the Arrow C data interface, built from vectors, with a count of releases.
namespace TESSERA_NAMESPACE::gam::testing {

/// Numbers of structures created, including children and dictionaries, and of release callbacks called.
struct ArrowCounts {
  std::int64_t made = 0;
  std::int64_t released = 0;
};

struct ArrowData {
  std::string format;
  std::string name{};
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::int64_t offset = 0;
  std::vector<std::optional<std::vector<std::byte>>> buffers{};  ///< empty: a null pointer
  std::vector<ArrowData> children{};
  std::shared_ptr<ArrowData> dictionary{};
  std::int64_t flags = 0;                   ///< of the ArrowSchema
  std::optional<std::int64_t> n_buffers{};  ///< empty: the size of `buffers`
};

namespace arrow_data_detail {

template <class Structure>
struct Kept {
  std::shared_ptr<const ArrowData> data;
  ArrowCounts* counts;
  std::vector<const void*> buffers{};
  std::vector<Structure> children{};
  std::vector<Structure*> child_pointers{};
  std::optional<Structure> dictionary{};

  static void release(Structure* structure) {
    const std::unique_ptr<Kept> kept(static_cast<Kept*>(structure->private_data));
    for (Structure& child : kept->children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (kept->dictionary && kept->dictionary->release != nullptr)
      kept->dictionary->release(&*kept->dictionary);
    ++kept->counts->released;
    structure->release = nullptr;
  }
};

template <class Structure, class Fill>
Structure exported(std::shared_ptr<const ArrowData> data, ArrowCounts& counts, const Fill& fill) {
  auto kept = std::make_unique<Kept<Structure>>(Kept<Structure>{.data = data, .counts = &counts});
  const auto part = [&](const ArrowData& of) {
    return exported<Structure>(std::shared_ptr<const ArrowData>(data, &of), counts, fill);
  };
  for (const ArrowData& child : data->children) kept->children.push_back(part(child));
  for (Structure& child : kept->children) kept->child_pointers.push_back(&child);
  if (data->dictionary) kept->dictionary = part(*data->dictionary);
  Structure out{};
  fill(*data, *kept, out);
  out.n_children = std::ssize(kept->children);
  out.children = kept->child_pointers.data();
  out.dictionary = kept->dictionary ? &*kept->dictionary : nullptr;
  out.release = &Kept<Structure>::release;
  out.private_data = kept.release();
  ++counts.made;
  return out;
}

}  // namespace arrow_data_detail

inline ArrowSchema schema_of(const ArrowData& data, ArrowCounts& counts) {
  return arrow_data_detail::exported<ArrowSchema>(
      std::make_shared<const ArrowData>(data), counts,
      [](const ArrowData& from, auto& /*kept*/, ArrowSchema& out) {
        out.format = from.format.c_str();
        out.name = from.name.c_str();
        out.flags = from.flags;
      });
}

inline ArrowArray array_of(const ArrowData& data, ArrowCounts& counts) {
  return arrow_data_detail::exported<ArrowArray>(
      std::make_shared<const ArrowData>(data), counts,
      [](const ArrowData& from, auto& kept, ArrowArray& out) {
        for (const auto& buffer : from.buffers) kept.buffers.push_back(buffer ? buffer->data() : nullptr);
        out.length = from.length;
        out.null_count = from.null_count;
        out.offset = from.offset;
        out.n_buffers = from.n_buffers.value_or(std::ssize(from.buffers));
        out.buffers = kept.buffers.data();
      });
}

/// A stream of record batches. get_next fails at batch `fails_at`.
struct ArrowStreamData {
  std::vector<ArrowData> batches;  ///< the first defines the schema
  ArrowCounts* counts;
  std::size_t fails_at = static_cast<std::size_t>(-1);
  bool has_no_schema = false;
  const char* error = "the disk\nis gone";
  std::size_t next = 0;
};

inline ArrowArrayStream stream_of(ArrowStreamData data) {
  ArrowArrayStream out{};
  ++data.counts->made;
  out.private_data = new ArrowStreamData(std::move(data));
  const auto of = [](ArrowArrayStream* stream) -> ArrowStreamData& {
    return *static_cast<ArrowStreamData*>(stream->private_data);
  };
  static constexpr auto data_of = of;
  out.get_schema = [](ArrowArrayStream* stream, ArrowSchema* to) {
    ArrowStreamData& from = data_of(stream);
    if (from.has_no_schema) return 5;
    *to = schema_of(from.batches.front(), *from.counts);
    return 0;
  };
  out.get_next = [](ArrowArrayStream* stream, ArrowArray* to) {
    ArrowStreamData& from = data_of(stream);
    if (from.next == from.fails_at) return 5;
    if (from.next == from.batches.size())
      *to = {};
    else
      *to = array_of(from.batches[from.next++], *from.counts);
    return 0;
  };
  out.get_last_error = [](ArrowArrayStream* stream) { return data_of(stream).error; };
  out.release = [](ArrowArrayStream* stream) {
    const std::unique_ptr<ArrowStreamData> from(&data_of(stream));
    ++from->counts->released;
    stream->release = nullptr;
  };
  return out;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::vector<std::byte> bits_of(const std::vector<bool>& values) {
  std::vector<std::byte> bits((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  }
  return bits;
}

/// Sets length, offset and validity bitmap. `offset`: number of unused values before the first row.
template <class T>
ArrowData described(std::string name, std::string format, const std::vector<std::optional<T>>& values,
                    std::size_t offset) {
  ArrowData data{.format = std::move(format), .name = std::move(name)};
  data.length = std::ssize(values);
  data.offset = static_cast<std::int64_t>(offset);
  std::vector<bool> there(offset, false);
  for (const auto& value : values) {
    there.push_back(value.has_value());
    data.null_count += value ? 0 : 1;
  }
  data.buffers.emplace_back(data.null_count > 0 ? std::optional(bits_of(there)) : std::nullopt);
  return data;
}

template <class T>
ArrowData numbers_of(std::string name, std::string format, const std::vector<std::optional<T>>& values,
                     std::size_t offset = 0) {
  ArrowData data = described(std::move(name), std::move(format), values, offset);
  std::vector<T> numbers(offset, T{77});
  for (const auto& value : values) numbers.push_back(value.value_or(T{99}));
  data.buffers.emplace_back(bytes_of(numbers));
  return data;
}

inline ArrowData truths_of(std::string name, const std::vector<std::optional<bool>>& values,
                           std::size_t offset = 0) {
  ArrowData data = described(std::move(name), "b", values, offset);
  std::vector<bool> truths(offset, true);
  for (const auto& value : values) truths.push_back(value.value_or(true));
  data.buffers.emplace_back(bits_of(truths));
  return data;
}

/// `format`: "u" (utf8) or "U" (large_utf8).
template <class Offset>
ArrowData texts_of(std::string name, std::string format,
                   const std::vector<std::optional<std::string>>& values, std::size_t offset = 0) {
  ArrowData data = described(std::move(name), std::move(format), values, offset);
  std::string all = "unused";
  std::vector<Offset> offsets(offset + 1, static_cast<Offset>(all.size()));
  for (const auto& value : values) {
    all += value.value_or("");
    offsets.push_back(static_cast<Offset>(all.size()));
  }
  data.buffers.emplace_back(bytes_of(offsets));
  data.buffers.emplace_back(bytes_of(std::vector<char>(all.begin(), all.end())));
  return data;
}

/// A string_view array with two data buffers.
inline ArrowData views_of(std::string name, const std::vector<std::optional<std::string>>& values,
                          std::size_t offset = 0) {
  ArrowData data = described(std::move(name), "vu", values, offset);
  std::vector<std::int32_t> views(4 * offset, -1);
  std::string buffers[2] = {"unused", "too"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string text = values[i].value_or("");
    const auto length = static_cast<std::int32_t>(text.size());
    std::int32_t view[4] = {length, 0, static_cast<std::int32_t>(i % 2),
                            static_cast<std::int32_t>(buffers[i % 2].size())};
    if (length <= 12) {
      text.resize(12);
      std::memcpy(view + 1, text.data(), 12);
    } else {
      std::memcpy(view + 1, text.data(), 4);
      buffers[i % 2] += text;
    }
    views.insert(views.end(), view, view + 4);
  }
  data.buffers.emplace_back(bytes_of(views));
  std::vector<std::int64_t> sizes;
  for (const std::string& buffer : buffers) {
    data.buffers.emplace_back(bytes_of(std::vector<char>(buffer.begin(), buffer.end())));
    sizes.push_back(std::ssize(buffer));
  }
  data.buffers.emplace_back(bytes_of(sizes));
  return data;
}

template <class T>
ArrowData coded_of(std::string name, std::string format, const std::vector<std::optional<T>>& indices,
                   ArrowData dictionary, std::size_t offset = 0) {
  ArrowData data = numbers_of(std::move(name), std::move(format), indices, offset);
  data.dictionary = std::make_shared<ArrowData>(std::move(dictionary));
  return data;
}

/// `offset`: number of unused values before the first row in each column.
inline ArrowData batch_of(std::vector<ArrowData> columns, std::int64_t offset = 0) {
  ArrowData batch{.format = "+s", .length = columns.empty() ? 0 : columns[0].length - offset};
  batch.offset = offset;
  batch.buffers.emplace_back(std::nullopt);
  batch.children = std::move(columns);
  return batch;
}

inline ArrowArrayStream endless_stream(ArrowData batch, ArrowCounts& counts) {
  struct Endless {
    ArrowData batch;
    ArrowCounts* counts;
  };
  ArrowArrayStream from{};
  from.private_data = new Endless{std::move(batch), &counts};
  from.get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
    auto& its = *static_cast<Endless*>(stream->private_data);
    *schema = schema_of(its.batch, *its.counts);
    return 0;
  };
  from.get_next = [](ArrowArrayStream* stream, ArrowArray* array) {
    auto& its = *static_cast<Endless*>(stream->private_data);
    *array = array_of(its.batch, *its.counts);
    return 0;
  };
  from.release = [](ArrowArrayStream* stream) {
    delete static_cast<Endless*>(stream->private_data);
    stream->release = nullptr;
  };
  return from;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
