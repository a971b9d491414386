// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"

#include <tessera/partition/plan.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One response of the results of many models (`fit_many`) as a model.
namespace TESSERA_NAMESPACE::gam {

/// How the fit of a response ended: by the number of a `ManyStatus`.
inline constexpr std::array<std::string_view, 6> status_names = {"converged", "all_zero",  "constant",
                                                                 "too_few",   "unbounded", "failed"};

/// Names of the HDF5 datasets of a file of results, in addition to a column for each number.
struct ManyDatasets {
  /// The model that all responses share, as the text of its file; its coefficients are zero.
  static constexpr const char* model = "model";
  /// By response: the upper triangle of the covariance of the coefficients, row by row.
  static constexpr const char* covariance = "covariance";
  static constexpr const char* edf = "coefficient_edf";  ///< by response and coefficient
  /// By response and smoothing parameter: the natural logarithms with which the covariance is computed,
  /// finite where lambda is not.
  static constexpr const char* log_lambda = "log_lambda";
  /// Only if curves may be at minus infinity; a row per response, a column per coefficient. `predictor`: the
  /// coefficients in rows with a finite predictor, to which `covariance` refers. `absent_rows`: coefficients
  /// whose predictor is 1 in rows at minus infinity, and 0 in all others.
  static constexpr const char* predictor = "predictor";
  static constexpr const char* absent_rows = "absent_rows";
  /// By response and smooth: reference degrees of freedom, statistic and p value of its test.
  static constexpr const char* smooth_tests = "smooth_tests";
};

/// The results of one response, by the names of columns and matrices.
class ResponseRecord {
 public:
  ResponseRecord() = default;
  virtual ~ResponseRecord() = default;
  ResponseRecord(const ResponseRecord&) = delete;
  ResponseRecord& operator=(const ResponseRecord&) = delete;

  [[nodiscard]] virtual std::string source() const = 0;  ///< where the results are, for messages
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether there is a column or matrix of this name.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  // Precondition: there is a column of this name, or a matrix of `width` numbers for each response. A file
  // without it is damaged: `Error(input)`.
  [[nodiscard]] virtual double number(const std::string& column) const = 0;
  [[nodiscard]] virtual std::string text(const std::string& column) const = 0;
  [[nodiscard]] virtual std::vector<double> numbers(const std::string& matrix, std::size_t width) const = 0;
};

/// The model of a response. `shared`: the model of all responses. Without covariances,
/// `FittedModel::why_no_covariance` has the reason. Throws `Error(usage)` if the response has no fit.
[[nodiscard]] FittedModel response_model(const FittedModel& shared, const ResponseRecord& record);

/// A response of a file of results.
struct NamedResponse {
  std::string file;
  std::string response;
};

/// Splits "FILE.h5:NAME" or "FILE.hdf5:NAME"; empty for other paths, and if a file has the whole path as its
/// name.
[[nodiscard]] std::optional<NamedResponse> named_response(const std::string& path);

/// `response_model` of a response in a file. Also throws `Error(input)` if there is no such file, if it is no
/// file of results or damaged, or if it lacks the response.
[[nodiscard]] FittedModel read_response(const NamedResponse& named);

/// The results of many models in an HDF5 file.
class StoredResults {
 public:
  /// Throws `Error(input)` if the file is no file of results.
  explicit StoredResults(const std::string& path);
  ~StoredResults();
  StoredResults(const StoredResults&) = delete;
  StoredResults& operator=(const StoredResults&) = delete;

  /// The model that all responses share.
  [[nodiscard]] FittedModel shared() const;
  [[nodiscard]] std::vector<std::string> responses() const;
  [[nodiscard]] bool has(const std::string& dataset) const;
  /// The texts of a column. Throws like `numbers`.
  [[nodiscard]] std::vector<std::string> texts(const std::string& column, Range rows) const;
  /// `width` numbers for each of these responses, one response after the other; width 0: those of a column.
  /// Throws `Error(input)` for a dataset that is missing or has another size.
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width, Range rows) const;

  class File;

 private:
  std::unique_ptr<File> file_;
};

}  // namespace TESSERA_NAMESPACE::gam
