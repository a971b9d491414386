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

/// A block of a matrix.
struct MatrixBlock {
  Range rows;
  Range columns;
  [[nodiscard]] std::int64_t size() const noexcept { return rows.size() * columns.size(); }
};

/// A row-major matrix of numbers in a file. All threads of a team read a block of it together. An array of
/// one dimension is a matrix of one row.
class StoredMatrix {
 public:
  StoredMatrix() = default;
  virtual ~StoredMatrix() = default;
  StoredMatrix(const StoredMatrix&) = delete;
  StoredMatrix& operator=(const StoredMatrix&) = delete;

  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::int64_t columns() const = 0;
  /// Size of the values that are stored together, e.g. a packed chunk: reading a part of them costs as much
  /// as reading all.
  struct Piece {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
  };
  [[nodiscard]] virtual Piece chunk() const { return {}; }
  /// Whether every value is exact as a float.
  [[nodiscard]] virtual bool is_exact_in_float() const { return false; }

  /// Calls `take` with blocks that cover `block`, and their row-major values, concurrently on the threads of
  /// the team. Throws `Error(input)`, and passes on exceptions of `take`.
  using Take = FunctionRef<void(const MatrixBlock& block, std::span<const double> values)>;
  void read(HostTeam& team, const MatrixBlock& block, Take take) const;
  /// Values [range.begin, range.end) of a matrix of one row.
  [[nodiscard]] std::vector<double> read(HostTeam& team, Range range) const;

 protected:
  /// Reads blocks on one thread.
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
  /// The pieces into which a read of `block` is divided: their borders are multiples of this size.
  [[nodiscard]] virtual Piece piece_of(const MatrixBlock& block) const;
  [[noreturn]] void fail(const MatrixBlock& block) const;
};

/// Contiguous numbers in a file.
struct PlainNumbers {
  std::shared_ptr<const files::InputFile> file;
  std::string name;         ///< the name in messages
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
  bool is_transposed = false;  ///< whether the array is in Fortran's order: the rows of `stored` are then the
                               ///< columns of the array
};
/// Throws `Error(input)` for an array that is not of numbers or not of two dimensions, or a truncated file.
[[nodiscard]] NpyMatrix open_npy(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
