// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_table.hpp"
#include "gam/data/matrix/hdf5_matrix.hpp"
#include "gam/many/dense_responses.hpp"
#include "gam/many/responses.hpp"
#include "gam/many/sparse_responses.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

class MatrixFile {
 public:
  MatrixFile(const std::string& file, std::string path) : path_(std::move(path)) {
    auto opened = std::make_shared<const files::InputFile>(file);
    if (!Hdf5Format::recognises(*opened))
      throw base::input_error("{}: is not an HDF5 file, and so contains no {}: name only the file", file,
                              path_);
    Handle hdf5 = open_hdf5_file(*opened);
    file_ = std::make_shared<const Hdf5File>(Hdf5File{std::move(opened), std::move(hdf5)});
  }

  [[nodiscard]] std::string name() const { return file_->opened->path() + ":" + path_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::unique_ptr<StoredMatrix> dataset(const std::string& path, int dimensions) const {
    if (!has(path))
      throw base::input_error("{}: has no dataset {}: correct the path", file_->opened->path(), path);
    return hdf5_matrix(file_, path, dimensions);
  }
  [[nodiscard]] bool is_group(const std::string& path) const {
    if (!has(path)) return false;
    const Handle object(H5Oopen(hdf5(), path.c_str(), H5P_DEFAULT), H5Oclose);
    return object.valid() && H5Iget_type(object.get()) == H5I_GROUP;
  }
  [[nodiscard]] std::vector<std::int64_t> numbers(const Workers& workers, const std::string& path) const {
    const auto stored = dataset(path, 1);
    const std::vector<double> values = stored->read(workers.team, {0, stored->columns()});
    return {values.begin(), values.end()};
  }

  /// Names of responses and rows, stored as by AnnData, Cell Ranger or ModelArray. Empty if their number is
  /// wrong.
  [[nodiscard]] MatrixNames names(std::int64_t responses, std::int64_t rows) const {
    MatrixNames names;
    std::vector<std::vector<std::string>> found{
        texts(index_of("/obs")), texts(index_of(path_.starts_with("/raw/") ? "/raw/var" : "/var"))};
    if (has(path_ + "/barcodes")) found = {texts(path_ + "/barcodes"), texts(path_ + "/features/id")};
    if (found[0].empty()) found[0] = column_names();
    // In a transposed matrix, observations are responses.
    for (int turn = 0; turn < (rows == responses ? 1 : 2); ++turn) {
      if (names.rows.empty() && std::ssize(found[0]) == rows) names.rows = found[0];
      if (names.responses.empty() && std::ssize(found[1]) == responses) names.responses = found[1];
      std::swap(found[0], found[1]);
    }
    return names;
  }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> shape(const Workers& workers) const {
    const Handle group(H5Gopen2(hdf5(), path_.c_str(), H5P_DEFAULT), H5Gclose);
    std::vector<std::int64_t> size;
    if (H5Aexists(group.get(), "shape") > 0) {
      const Handle attribute(H5Aopen(group.get(), "shape", H5P_DEFAULT), H5Aclose);
      const Handle space(H5Aget_space(attribute.get()), H5Sclose);
      size.resize(at(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get()))));
      if (H5Aread(attribute.get(), H5T_NATIVE_INT64, size.data()) < 0) size.clear();
    } else if (has(path_ + "/shape")) {
      size = numbers(workers, path_ + "/shape");
    }
    if (size.size() != 2 || size[0] < 0 || size[1] < 0)
      throw base::input_error(
          "{}: is a group, but not a sparse matrix, because its shape is missing: name a matrix", name());
    return {size[0], size[1]};
  }

  /// A string attribute; empty if absent.
  [[nodiscard]] std::string attribute(const std::string& path, const char* attribute_name) const {
    const Handle object(H5Oopen(hdf5(), path.c_str(), H5P_DEFAULT), H5Oclose);
    return hdf5_attribute(object.get(), attribute_name);
  }

 private:
  [[nodiscard]] hid_t hdf5() const { return file_->hdf5.get(); }
  [[nodiscard]] bool has(const std::string& path) const {
    // H5Lexists requires that each parent exists.
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      if (H5Lexists(hdf5(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
      if (end == std::string::npos) return true;
    }
  }

  /// ModelArray's names of source files, in an attribute of the matrix or a dataset beside it.
  [[nodiscard]] std::vector<std::string> column_names() const {
    const Handle matrix(H5Oopen(hdf5(), path_.c_str(), H5P_DEFAULT), H5Oclose);
    std::vector<std::string> names = hdf5_attribute_texts(matrix.get(), "column_names");
    return names.empty() ? texts(path_.substr(0, path_.rfind('/')) + "/column_names") : names;
  }

  /// Path of the index (names) of an AnnData group.
  [[nodiscard]] std::string index_of(const std::string& group) const {
    if (!is_group(group)) return {};
    const std::string column = attribute(group, "_index");
    return group + "/" + (column.empty() ? "_index" : column);
  }

  /// The strings of a column; empty if it has no strings.
  [[nodiscard]] std::vector<std::string> texts(const std::string& path) const {
    if (path.empty() || !has(path)) return {};
    const auto parts = parts_of_column(hdf5(), path);
    return parts ? hdf5_texts(hdf5(), parts->values, file_->opened->path()) : std::vector<std::string>();
  }

  std::string path_;
  std::shared_ptr<const Hdf5File> file_;
};

std::unique_ptr<ResponseSource> open_sparse(const Workers& workers, const MatrixFile& file, ResponsesIn in,
                                            std::int64_t rows) {
  const auto [high, wide] = file.shape(workers);
  const bool in_columns = responses_in_columns(file.name(), high, wide, in, rows);
  StoredElements matrix{.name = file.name(),
                        .rows = rows,
                        .responses = in_columns ? wide : high,
                        .data = file.dataset(file.path() + "/data", 1),
                        .indices = file.dataset(file.path() + "/indices", 1),
                        .begins = file.numbers(workers, file.path() + "/indptr")};
  // `indptr` has one element more than the matrix has rows (CSR) or columns (CSC).
  const std::string encoding = file.attribute(file.path(), "encoding-type");
  const bool by_columns =
      encoding == "csc_matrix" || (encoding != "csr_matrix" && std::ssize(matrix.begins) == wide + 1);
  matrix.by_response = by_columns == in_columns;
  MatrixNames names = file.names(matrix.responses, matrix.rows);
  return sparse_responses(workers, std::move(matrix), std::move(names));
}

}  // namespace

std::unique_ptr<ResponseSource> open_hdf5_responses(const Workers& workers, const std::string& file,
                                                    const std::string& path, ResponsesIn in,
                                                    std::int64_t rows) {
  const QuietHdf5 quiet;
  const MatrixFile opened(file, path);
  if (opened.is_group(path)) return open_sparse(workers, opened, in, rows);
  auto stored = opened.dataset(path, 2);
  const bool in_columns = responses_in_columns(stored->name(), stored->rows(), stored->columns(), in, rows);
  MatrixNames names = in_columns ? opened.names(stored->columns(), stored->rows())
                                 : opened.names(stored->rows(), stored->columns());
  return dense_responses(workers, std::move(stored), in_columns, std::move(names));
}

}  // namespace TESSERA_NAMESPACE::gam
