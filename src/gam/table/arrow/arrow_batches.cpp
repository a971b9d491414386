// SPDX-License-Identifier: Apache-2.0
#include "gam/table/arrow/arrow_batches.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Why a call of the stream has failed.
std::string reason(ArrowOwner<ArrowArrayStream>& stream, int error) {
  const char* const said = stream->get_last_error != nullptr ? stream->get_last_error(stream.out()) : nullptr;
  return said != nullptr && *said != '\0' ? printable(said) : std::generic_category().message(error);
}

}  // namespace

void refuse_arrow(ErrorCode code, std::string_view what) {
  throw Error(code, fmt::format("the Arrow table: {}", what));
}

ArrowBatches take_batches(ArrowSchema* schema, std::span<ArrowArray> batches) {
  ArrowBatches out;
  out.batches.reserve(batches.size());
  for (ArrowArray& batch : batches) out.batches.emplace_back(batch);
  if (schema == nullptr) refuse_arrow(ErrorCode::usage, "its schema is a null pointer");
  out.schema = ArrowOwner<ArrowSchema>(*schema);
  if (!out.schema) refuse_arrow(ErrorCode::usage, "its schema was released, or moved elsewhere");
  for (std::size_t b = 0; b < out.batches.size(); ++b) {
    if (!out.batches[b])
      refuse_arrow(ErrorCode::usage, fmt::format("batch {} was released, or moved elsewhere", b + 1));
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
    out.schema.out()->release = nullptr;  // not valid, by the specification
    refuse_arrow(ErrorCode::input, "its stream gives no schema: " + reason(stream, error));
  }
  if (!out.schema) refuse_arrow(ErrorCode::input, "its stream gives a schema that was released");
  for (;;) {
    if (between) between();
    ArrowOwner<ArrowArray> batch;
    if (const int error = stream->get_next(stream.out(), batch.out()); error != 0) {
      batch.out()->release = nullptr;
      refuse_arrow(ErrorCode::input, fmt::format("its stream fails at batch {}: {}", out.batches.size() + 1,
                                                 reason(stream, error)));
    }
    if (!batch) return out;
    out.batches.push_back(std::move(batch));
  }
}

}  // namespace TESSERA_NAMESPACE::gam
