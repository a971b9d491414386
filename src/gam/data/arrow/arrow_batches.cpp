// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_batches.hpp"

#include <tessera/printable.hpp>

#include <memory>
#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The stream's message about its failed call.
std::string reason(ArrowOwner<ArrowArrayStream>& stream, int error) {
  const char* const said = stream->get_last_error != nullptr ? stream->get_last_error(stream.out()) : nullptr;
  return said != nullptr && *said != '\0' ? printable(said) : std::generic_category().message(error);
}

/// Owner of the data of a record batch with one column, or of its schema.
template <class T>
struct OnlyColumn {
  OnlyColumn(ArrowOwner<T> its, std::string name_of_it)
      : column(std::move(its)), name(std::move(name_of_it)), shown(*column) {}
  OnlyColumn(const OnlyColumn&) = delete;
  OnlyColumn& operator=(const OnlyColumn&) = delete;

  ArrowOwner<T> column;
  std::string name;
  T shown;  ///< a copy of `*column`, with `name` in a schema; `column` remains the owner
  T* child = &shown;
  const void* validity = nullptr;  ///< null pointer: no row is null
};

/// A parent structure with one column as its child; `describe` fills in the other fields.
template <class T, class Describe>
ArrowOwner<T> parent_of(ArrowOwner<T> column, const std::string& name, const Describe& describe) {
  auto only = std::make_unique<OnlyColumn<T>>(std::move(column), name);
  T parent{};
  describe(parent, *only);
  parent.n_children = 1;
  parent.children = &only->child;
  parent.release = [](T* released) {
    delete static_cast<OnlyColumn<T>*>(released->private_data);
    released->release = nullptr;
  };
  parent.private_data = only.release();
  return ArrowOwner<T>(parent);
}

}  // namespace

ArrowFault::ArrowFault(ErrorCode code, std::string_view fault)
    : Error(code, fmt::format("the Arrow table: {}", fault)), fault_(fault) {}

void refuse_arrow(ErrorCode code, std::string_view what) {
  throw ArrowFault(code, what);
}

ArrowBatches take_batches(ArrowSchema* schema, std::span<ArrowArray> batches) {
  ArrowBatches out;
  out.batches.reserve(batches.size());
  for (ArrowArray& batch : batches) out.batches.emplace_back(batch);
  if (schema == nullptr) refuse_arrow(ErrorCode::usage, "its schema is a null pointer");
  out.schema = ArrowOwner<ArrowSchema>(*schema);
  if (!out.schema) refuse_arrow(ErrorCode::usage, "its schema was released, or moved elsewhere");
  for (std::size_t b = 0; b < out.batches.size(); ++b) {
    if (!out.batches[b]) refuse_arrow(ErrorCode::usage, "batch {} was released, or moved elsewhere", b + 1);
  }
  return out;
}

ArrowBatches take_column(const std::string& name, ArrowSchema* schema, std::span<ArrowArray> chunks) {
  ArrowBatches column = take_batches(schema, chunks);
  ArrowBatches out;
  out.schema = parent_of(std::move(column.schema), name, [](ArrowSchema& parent, auto& only) {
    parent.format = "+s";
    only.shown.name = only.name.c_str();
  });
  for (ArrowOwner<ArrowArray>& chunk : column.batches) {
    out.batches.push_back(parent_of(std::move(chunk), name, [](ArrowArray& parent, auto& only) {
      parent.length = only.shown.length;
      parent.n_buffers = 1;
      parent.buffers = &only.validity;
    }));
  }
  return out;
}

ArrowBatches take_batches(ArrowArrayStream* from, const BetweenReads& between) {
  if (from == nullptr) refuse_arrow(ErrorCode::usage, "its stream is a null pointer");
  ArrowOwner<ArrowArrayStream> stream(*from);
  if (!stream) refuse_arrow(ErrorCode::usage, "its stream was released, or moved elsewhere");
  if (stream->get_schema == nullptr || stream->get_next == nullptr)
    refuse_arrow(ErrorCode::input, "its stream lacks a callback");
  ArrowBatches out;
  if (const int error = stream->get_schema(stream.out(), out.schema.out()); error != 0) {
    out.schema.out()->release = nullptr;  // not valid after an error, by the specification
    refuse_arrow(ErrorCode::input, "its stream gives no schema: " + reason(stream, error));
  }
  if (!out.schema) refuse_arrow(ErrorCode::input, "its stream gives a schema that was released");
  for (;;) {
    if (between) between();
    ArrowOwner<ArrowArray> batch;
    if (const int error = stream->get_next(stream.out(), batch.out()); error != 0) {
      batch.out()->release = nullptr;
      refuse_arrow(ErrorCode::input, "its stream fails at batch {}: {}", out.batches.size() + 1,
                   reason(stream, error));
    }
    if (!batch) return out;
    out.batches.push_back(std::move(batch));
  }
}

}  // namespace TESSERA_NAMESPACE::gam
