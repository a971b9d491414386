// SPDX-License-Identifier: Apache-2.0
#include "gam/many/gathered_columns.hpp"

#include <algorithm>
#include <span>
#include <variant>

namespace TESSERA_NAMESPACE::gam {
namespace {

template <class Value>
void append(const mpi::Communicator& comm, std::span<const Value> mine, std::vector<Value>& to) {
  const std::vector<Value> all = comm.allgatherv(mine);
  to.insert(to.end(), all.begin(), all.end());
}

}  // namespace

void GatheredColumns::add(const OutputRows& rows) {
  for (std::size_t c = 0; c < rows.columns.size(); ++c) {
    const Variable& values = rows.columns[c].values;
    if (c == columns_.size()) {
      columns_.push_back({rows.columns[c].name, std::vector<double>()});
      if (values.factor) columns_[c].values = Factor{{}, values.levels, LevelOrder::given};
    }
    std::vector<double> copy;
    if (values.factor)
      append(comm_, std::span(values.codes.data(), values.codes.size()),
             std::get<Factor>(columns_[c].values).codes);
    else
      append(comm_, values.numbers.rows(0, values.numbers.size(), copy),
             std::get<std::vector<double>>(columns_[c].values));
  }
  if (matrices_ == nullptr) return;
  for (const OutputMatrix& one : rows.matrices) {
    Matrix& all =
        matrices_->try_emplace(one.name, one.width, static_cast<int>(rows.table_rows)).first->second;
    const std::vector<double> part = comm_.allgatherv(std::span(one.values));
    std::ranges::copy(part, all.column(static_cast<int>(rows.first_row)).data());
  }
}

}  // namespace TESSERA_NAMESPACE::gam
