// SPDX-License-Identifier: Apache-2.0
// The device pass in builds without CUDA.
#include "gam/rows/columns.hpp"
#include "gam/rows/device_pass.hpp"
#include "gam/rows/device_prediction.hpp"

#include <tessera/error.hpp>

#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::job_fault, "this build has no CUDA: configure with TESSERA_ENABLE_CUDA=ON");
}

}  // namespace

struct DeviceRows::OnDevice {};

std::shared_ptr<DeviceTable> make_device_table(const Job& /*job*/, std::int64_t /*device_bytes*/) {
  return nullptr;
}

NumberTaker* begin_upload(DeviceTable& /*table*/, Job& /*job*/, const Plan& /*plan*/,
                          const std::vector<NamedNumbers>& /*columns*/, std::int64_t /*bytes_per_row*/) {
  return nullptr;
}

DeviceRows::DeviceRows(const Rows& rows, const RowLayout& layout, std::int64_t block_rows,
                       std::shared_ptr<DeviceTable> table)
    : rows_(rows), layout_(layout), block_rows_(block_rows), cross_(layout), table_(std::move(table)) {}

DeviceRows::~DeviceRows() = default;

void DeviceRows::add(PassKind, std::span<const double>, const Tile&, ReproducibleSum&) {
  fail();
}

void DevicePrediction::predict(const Tile&, std::span<Prediction>) const {
  fail();
}

std::int64_t DevicePrediction::bytes_per_row() const {
  return column_bytes_per_row(rows_);
}

}  // namespace TESSERA_NAMESPACE::gam
