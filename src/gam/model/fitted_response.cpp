// SPDX-License-Identifier: Apache-2.0
#include "gam/model/fitted_response.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"
#include "gam/inference/term_tests.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The row of a response in the datasets of a file of results.
class ResponseRecord {
 public:
  explicit ResponseRecord(const NamedResponse& named)
      : opened_(named.file), hdf5_(open_hdf5_file(opened_)), name_(named.response) {
    if (!has(ManyDatasets::model) || !has("response"))
      throw base::input_error(
          "{}: has no models of responses: take the HDF5 file that tessera-fit many has written", named.file);
    const std::vector<hsize_t> size = extents(open("response").get());
    if (size.size() != 1) damaged("response");
    rows_ = size.front();
    const std::vector<std::string> names = texts("response", {0, static_cast<std::int64_t>(rows_)});
    const auto found = std::ranges::find(names, name_);
    if (found == names.end())
      throw base::input_error("{}: has no response '{}'{}", named.file, name_,
                              base::did_you_mean(names, name_));
    row_ = found - names.begin();
  }

  [[nodiscard]] const std::string& file() const { return opened_.path(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] bool has(const std::string& dataset) const {
    H5L_info_t info{};
    // Hard links only: other links could open any file that the user may read.
    return H5Lexists(hdf5_.get(), dataset.c_str(), H5P_DEFAULT) > 0 &&
           H5Lget_info(hdf5_.get(), dataset.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
  }
  [[nodiscard]] double number(const std::string& column) const { return numbers(column, 0).front(); }
  /// The response's row of a matrix of `width` columns; `width` 0: its number in a column.
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width) const {
    const Handle opened = open(dataset);
    std::vector<hsize_t> expected{rows_};
    if (width > 0) expected.push_back(width);
    if (extents(opened.get()) != expected) damaged(dataset);
    std::vector<hsize_t> first(expected.size());
    first.front() = static_cast<hsize_t>(row_);
    expected.front() = 1;
    std::vector<double> values(std::max<std::size_t>(width, 1));
    read(dataset, opened.get(), H5T_NATIVE_DOUBLE, first, expected, values.data());
    return values;
  }
  [[nodiscard]] std::string text(const std::string& column) const {
    return texts(column, {row_, row_ + 1}).front();
  }
  /// A text that belongs to the whole file, not to a response.
  [[nodiscard]] std::string whole_text(const char* dataset) const {
    const Handle opened = open(dataset);
    const Handle type(H5Dget_type(opened.get()), H5Tclose);
    const std::size_t bytes = H5Tget_size(type.get());
    if (hdf5_kind(type.get()) != Hdf5Kind::fixed_text || !extents(opened.get()).empty() ||
        static_cast<std::int64_t>(bytes) > opened_.size())
      damaged(dataset);
    std::string text(bytes, '\0');
    if (H5Dread(opened.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) damaged(dataset);
    return text;
  }

 private:
  [[noreturn]] void damaged(const std::string& dataset) const {
    throw base::input_error("{}: is damaged: the dataset '{}' is not as tessera-fit many writes it",
                            opened_.path(), dataset);
  }
  [[nodiscard]] Handle open(const std::string& dataset) const {
    Handle opened(has(dataset) ? H5Dopen2(hdf5_.get(), dataset.c_str(), H5P_DEFAULT) : -1, H5Dclose);
    if (!opened.valid()) damaged(dataset);
    const Handle creation(H5Dget_create_plist(opened.get()), H5Pclose);
    if (H5Pget_external_count(creation.get()) != 0) damaged(dataset);
    return opened;
  }
  [[nodiscard]] static std::vector<hsize_t> extents(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    std::vector<hsize_t> extents(at(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    return extents;
  }
  void read(const std::string& name, hid_t dataset, hid_t type, const std::vector<hsize_t>& first,
            const std::vector<hsize_t>& count, void* to) const {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(dataset, type, memory.get(), space.get(), H5P_DEFAULT, to) < 0)
      damaged(name);
  }
  /// Some rows of a column of texts. If there are only a few different texts, they are stored as an
  /// enumeration.
  [[nodiscard]] std::vector<std::string> texts(const std::string& column, Range rows) const {
    const Handle dataset = open(column);
    const std::vector<hsize_t> size = extents(dataset.get());
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const std::size_t bytes = H5Tget_size(type.get());
    const Hdf5Kind kind = hdf5_kind(type.get());
    const bool is_enum = kind == Hdf5Kind::enumeration && bytes <= sizeof(std::int16_t);
    if (size.size() != 1 || static_cast<hsize_t>(rows.end) > size.front() ||
        (!is_enum && kind != Hdf5Kind::fixed_text) ||
        static_cast<std::int64_t>(bytes * size.front()) > opened_.size())
      damaged(column);
    std::vector<char> values(bytes * at(rows.size()));
    read(column, dataset.get(), type.get(), {static_cast<hsize_t>(rows.begin)},
         {static_cast<hsize_t>(rows.size())}, values.data());
    std::vector<std::string> found;
    for (std::size_t i = 0; i < values.size(); i += bytes) {
      std::array<char, max_member_bytes> member{};
      if (!is_enum) {
        const std::string_view padded(values.data() + i, bytes);
        found.emplace_back(padded.substr(0, padded.find('\0')));
      } else if (H5Tenum_nameof(type.get(), values.data() + i, member.data(), member.size()) >= 0) {
        found.emplace_back(member.data());
      } else {
        damaged(column);
      }
    }
    return found;
  }

  /// Maximum size of a member's name, since HDF5 describes an enumeration in 64 KiB.
  static constexpr std::size_t max_member_bytes = std::size_t{1} << 16;

  files::InputFile opened_;
  Handle hdf5_;
  std::string name_;
  hsize_t rows_ = 0;
  std::int64_t row_ = 0;
};

/// Fills the shared model with the numbers of a response.
class ResponseModel {
 public:
  explicit ResponseModel(const ResponseRecord& record) : record_(record) {
    try {
      model_ = parse_model(record.whole_text(ManyDatasets::model));
    } catch (const Error& error) {
      throw base::input_error("{}: {}", record.file(), error.what());
    }
  }

  FittedModel run() {
    const std::string status = record_.text("status");
    model_.converged = status == status_names[0];
    if (!model_.converged && status != "unbounded")
      throw base::usage_error("{}: the response '{}' has no fit, as it is {}: name another", record_.file(),
                              record_.name(), status);
    if (!model_.converged)
      model_.why_not_converged = "the criterion falls up to the end of the range of a smoothing parameter";
    add_coefficients();
    add_family();
    add_summary();
    if (record_.has(ManyDatasets::covariance))
      add_covariance();
    else
      add_edf_alone();
    add_tests();
    return std::move(model_);
  }

 private:
  void add_coefficients() {
    names_ = model_.design.coef_names();
    for (std::size_t i = 0; i < names_.size(); ++i) model_.coef[i] = record_.number(names_[i]);
    if (record_.has(ManyDatasets::absent_rows)) {
      model_.absent_rows = record_.numbers(ManyDatasets::absent_rows, names_.size());
      model_.predictor_coef = record_.numbers(ManyDatasets::predictor, names_.size());
      if (std::ranges::all_of(model_.absent_rows, [](double one) { return one == 0; })) {
        model_.absent_rows.clear();
        model_.predictor_coef.clear();
      }
    }
    int parameter = 0;
    std::vector<double> log_sp;
    const std::vector<PenaltyParameter> parameters = model_.design.parameters();
    std::size_t penalty = 0;
    std::vector<double> log_lambda;
    const auto count = parameter_count(parameters);
    if (record_.has(ManyDatasets::log_lambda)) log_lambda = record_.numbers(ManyDatasets::log_lambda, count);
    for (const CoefBlock& block : model_.design.blocks) {
      for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j, ++penalty) {
        const PenaltyParameter& one = parameters[penalty];
        if (one.index < 0) continue;
        if (one.index == parameter) {
          log_sp.push_back(!log_lambda.empty()
                               ? log_lambda[at(parameter)]
                               : std::log(record_.number("lambda:" + block.penalty->labels[j])));
          ++parameter;
        }
        // A model's smoothing parameters are finite: a larger log lambda is stored as this.
        constexpr double most = 100;
        model_.log_sp[penalty] = std::min(most, one.log_lambda(log_sp[at(one.index)]));
      }
    }
  }
  static std::size_t parameter_count(const std::vector<PenaltyParameter>& parameters) {
    int count = 0;
    for (const PenaltyParameter& one : parameters) count = std::max(count, one.index + 1);
    return at(count);
  }

  void add_family() {
    if (!record_.has("theta")) return;
    const double theta = record_.number("theta");
    model_.family = std::isinf(theta) ? *parse_family("poisson") : model_.family.at({theta});
  }

  void add_summary() {
    const std::int64_t table_rows = model_.rows + model_.rows_dropped;
    model_.rows = static_cast<std::int64_t>(record_.number("rows"));
    model_.rows_dropped = table_rows - model_.rows;
    model_.iterations = static_cast<int>(record_.number("iterations"));
    model_.reml = record_.number("reml");
    model_.aic = record_.number("aic");
    model_.deviance = record_.number("deviance");
    model_.null_deviance = model_.deviance / (1 - record_.number("deviance_explained"));
    model_.scale = record_.has("scale") ? record_.number("scale") : 1;
    model_.covariance_scale = model_.scale;
    model_.r_squared_adjusted = std::numeric_limits<double>::quiet_NaN();
    model_.edf_total = record_.number("edf");
    model_.verdict = "computed on the " + std::string(record_.text("computed_on") == "gpu" ? "GPU" : "CPU");
    model_.path = record_.file() + ":" + record_.name();
    model_.response.name = record_.name();
    if (record_.name().find_first_of("`\\") == std::string::npos)
      model_.formula = "`" + record_.name() + "`" + model_.formula.substr(model_.formula.find(" ~"));
  }

  void add_covariance() {
    const auto size = static_cast<int>(names_.size());
    const std::vector<double> packed =
        record_.numbers(ManyDatasets::covariance, names_.size() * (names_.size() + 1) / 2);
    Matrix covariance(size, size);
    std::size_t next = 0;
    for (int i = 0; i < size; ++i) {
      for (int j = i; j < size; ++j, ++next) covariance(i, j) = covariance(j, i) = packed[next];
    }
    model_.covariance = std::move(covariance);
    model_.edf = record_.numbers(ManyDatasets::edf, names_.size());
  }

  /// Without covariances: the coefficients of a smooth get equal shares of its degrees of freedom.
  void add_edf_alone() {
    model_.covariance = PartedMatrix();
    model_.why_no_covariance = record_.file() + " has no covariances: fit again with covariances";
    for (const CoefBlock& block : model_.design.blocks) {
      for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
        const double error = record_.number("se:" + names_[at(i)]);
        const double edf = block.penalty ? record_.number("edf:" + block.label) / block.coef_size
                                         : static_cast<double>(error > 0 ? 1 : 0);
        model_.edf[at(i)] = std::isnan(edf) ? 0 : edf;
      }
    }
  }

  void add_tests() {
    model_.smooth_tests.clear();
    for (const CoefBlock& block : model_.design.blocks) {
      constexpr double none = std::numeric_limits<double>::quiet_NaN();
      if (block.penalty) {
        model_.smooth_tests.push_back({block.label, model_.block_edf(block), none, none, none});
        continue;
      }
      for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i)
        model_.coefficient_tests.push_back(
            test_coefficient(names_[at(i)], model_.coef[at(i)], record_.number("se:" + names_[at(i)]),
                             !model_.family.scale_is_known(), model_.residual_df()));
    }
  }

  const ResponseRecord& record_;
  FittedModel model_;
  std::vector<std::string> names_;
};

}  // namespace

FittedModel read_response(const NamedResponse& named) {
  const QuietHdf5 quiet;
  return ResponseModel(ResponseRecord(named)).run();
}

}  // namespace TESSERA_NAMESPACE::gam
