// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_form.hpp"

#include <tessera/function.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

struct MatrixBlock {
  Range rows;
  Range columns;
  [[nodiscard]] std::int64_t size() const noexcept { return rows.size() * columns.size(); }
};

/// A row-major matrix of numbers in a file. All threads of a team read a block together. A one-dimensional
/// array is a matrix of one row.
class StoredMatrix {
 public:
  StoredMatrix() = default;
  virtual ~StoredMatrix() = default;
  StoredMatrix(const StoredMatrix&) = delete;
  StoredMatrix& operator=(const StoredMatrix&) = delete;

  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::int64_t columns() const = 0;
  /// Extents of a unit of storage, e.g. a compressed chunk, of which a part costs as much to read as the
  /// whole.
  struct Piece {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
  };
  [[nodiscard]] virtual Piece chunk() const { return {}; }
  [[nodiscard]] virtual bool is_exact_in_float() const { return false; }

  /// Calls `take` with blocks that cover `block`, and their row-major values, concurrently on the threads of
  /// the team. Throws `Error(input)`, and rethrows exceptions of `take`.
  using Take = FunctionRef<void(const MatrixBlock& block, std::span<const double> values)>;
  void read(HostTeam& team, const MatrixBlock& block, Take take) const;
  /// Values [range.begin, range.end) of a matrix of one row.
  [[nodiscard]] std::vector<double> read(HostTeam& team, Range range) const;

 protected:
  class Reader {
   public:
    Reader() = default;
    virtual ~Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    /// Fills `values` with a block, which lies within one piece.
    virtual void read(const MatrixBlock& block, std::span<double> values) = 0;
  };
  [[nodiscard]] virtual std::unique_ptr<Reader> reader() const = 0;
  /// The size of the pieces into which a read of `block` is divided; borders are multiples of this size.
  [[nodiscard]] virtual Piece piece_of(const MatrixBlock& block) const;
  [[noreturn]] void fail(const MatrixBlock& block) const;
};

struct PlainNumbers {
  std::shared_ptr<const files::InputFile> file;
  std::string name;
  std::int64_t offset = 0;  ///< file offset of the first number
  NumberForm form;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
[[nodiscard]] std::unique_ptr<StoredMatrix> plain_matrix(PlainNumbers numbers);

/// A matrix of two dimensions in NumPy's format. Source: NumPy Enhancement Proposal 1, "A simple file format
/// for NumPy arrays", versions 1 to 3.
struct NpyMatrix {
  std::unique_ptr<StoredMatrix> stored;
  bool is_transposed = false;  ///< Fortran order: rows of `stored` are columns of the array
};
/// Throws `Error(input)` for an array that is not of numbers or not of two dimensions, or a truncated file.
[[nodiscard]] NpyMatrix open_npy(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
