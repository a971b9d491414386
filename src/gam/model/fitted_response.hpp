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

/// Names of `ManyStatus`, by number.
inline constexpr std::array<std::string_view, 6> status_names = {"converged", "all_zero",  "constant",
                                                                 "too_few",   "unbounded", "failed"};

/// Names of the HDF5 datasets of a file of results, in addition to a column for each number.
struct ManyDatasets {
  /// The shared model of all responses, as the text of a model file; its coefficients are zero.
  static constexpr const char* model = "model";
  /// By response: the upper triangle of the covariance, row by row.
  static constexpr const char* covariance = "covariance";
  static constexpr const char* edf = "coefficient_edf";  ///< by response and coefficient
  /// By response and smoothing parameter: the log lambda at which the covariance is computed, always finite.
  static constexpr const char* log_lambda = "log_lambda";
  /// By response and coefficient, only if curves may be at minus infinity. `predictor`: coefficients of the
  /// rows with a finite predictor, to which `covariance` refers. `absent_rows`: coefficients whose predictor
  /// is 1 in rows at minus infinity, and 0 elsewhere.
  static constexpr const char* predictor = "predictor";
  static constexpr const char* absent_rows = "absent_rows";
  /// By response and smooth: reference degrees of freedom, statistic and p value of its test.
  static constexpr const char* smooth_tests = "smooth_tests";
};

class ResponseRecord {
 public:
  ResponseRecord() = default;
  virtual ~ResponseRecord() = default;
  ResponseRecord(const ResponseRecord&) = delete;
  ResponseRecord& operator=(const ResponseRecord&) = delete;

  [[nodiscard]] virtual std::string source() const = 0;  ///< for messages
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether a column or matrix has this name.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;
  // For a file: throw `Error(input)` if it lacks the column, or the matrix of `width` numbers per response.
  [[nodiscard]] virtual double number(const std::string& column) const = 0;
  [[nodiscard]] virtual std::string text(const std::string& column) const = 0;
  [[nodiscard]] virtual std::vector<double> numbers(const std::string& matrix, std::size_t width) const = 0;
};

/// The model of a response. `shared`: the shared model of all responses. Throws `Error(usage)` if the
/// response has no fit. Without covariances, sets `FittedModel::why_no_covariance`.
[[nodiscard]] FittedModel response_model(const FittedModel& shared, const ResponseRecord& record);

struct NamedResponse {
  std::string file;
  std::string response;
};

/// Splits "FILE.h5:NAME" or "FILE.hdf5:NAME". Empty for other paths, and for the path of an existing file.
[[nodiscard]] std::optional<NamedResponse> named_response(const std::string& path);

/// `response_model` of a response in a file. Also throws `Error(input)` if the file is missing, damaged or no
/// file of results, or if it lacks the response.
[[nodiscard]] FittedModel read_response(const NamedResponse& named);

/// The results of many models in an HDF5 file.
class StoredResults {
 public:
  /// Throws `Error(input)` if the file is no file of results.
  explicit StoredResults(const std::string& path);
  ~StoredResults();
  StoredResults(const StoredResults&) = delete;
  StoredResults& operator=(const StoredResults&) = delete;

  [[nodiscard]] FittedModel shared() const;
  [[nodiscard]] std::vector<std::string> responses() const;
  [[nodiscard]] bool has(const std::string& dataset) const;
  /// Throws like `numbers`.
  [[nodiscard]] std::vector<std::string> texts(const std::string& column, Range rows) const;
  /// `width` numbers for each response in `rows`, one response after another; width 0: a column. Throws
  /// `Error(input)` for a dataset that is missing or has another size.
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width, Range rows) const;

  class File;

 private:
  std::unique_ptr<File> file_;
};

}  // namespace TESSERA_NAMESPACE::gam
