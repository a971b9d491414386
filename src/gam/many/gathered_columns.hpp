// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/mpi/communicator.hpp>

#include <map>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An output table in the memory of every rank, not in a file. The arguments must outlive this object.
class GatheredColumns final : public TableOutput {
 public:
  /// `matrices` receives matrices by name, with a column for each row of the table; may be null.
  GatheredColumns(const mpi::Communicator& comm, std::vector<Table::Column>& columns,
                  std::map<std::string, Matrix>* matrices)
      : comm_(comm), columns_(columns), matrices_(matrices) {}

  void add(const OutputRows& rows) override;
  std::string commit() override { return {}; }

 private:
  const mpi::Communicator& comm_;
  std::vector<Table::Column>& columns_;
  std::map<std::string, Matrix>* matrices_;
};

}  // namespace TESSERA_NAMESPACE::gam
