// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"

#include <tessera/gam/table.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An output table gathered in memory on every rank, not written. Both arguments must outlive this object.
class GatheredColumns final : public TableOutput {
 public:
  GatheredColumns(const mpi::Communicator& comm, std::vector<Table::Column>& columns)
      : comm_(comm), columns_(columns) {}

  void add(const OutputRows& rows) override;
  std::string commit() override { return {}; }

 private:
  const mpi::Communicator& comm_;
  std::vector<Table::Column>& columns_;
};

}  // namespace TESSERA_NAMESPACE::gam
