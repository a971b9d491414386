// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/model/fitted_response.hpp"

#include <tessera/gam/many.hpp>

#include <algorithm>
#include <memory>
#include <variant>

namespace TESSERA_NAMESPACE::gam {
namespace {

class RecordInMemory final : public ResponseRecord {
 public:
  RecordInMemory(const ManyResults& results, const std::string& name) : results_(results), name_(name) {
    const std::vector<std::string>& names = factor("response").levels;
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw base::usage_error("the results have no response '{}'{}", name, base::names_like(names, name));
    index_ = found - names.begin();
  }

  [[nodiscard]] std::string source() const override { return "the results"; }
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool has(const std::string& name) const override {
    return results_.matrices.contains(name) || column(name) != results_.fits.end();
  }
  [[nodiscard]] double number(const std::string& name) const override {
    return std::get<std::vector<double>>(column(name)->values)[base::at(index_)];
  }
  [[nodiscard]] std::string text(const std::string& name) const override {
    const Factor& texts = factor(name);
    return texts.levels[base::at(texts.codes[base::at(index_)])];
  }
  [[nodiscard]] std::vector<double> numbers(const std::string& matrix, std::size_t /*width*/) const override {
    const auto own = results_.matrices.at(matrix).column(static_cast<int>(index_));
    return {own.begin(), own.end()};
  }

 private:
  [[nodiscard]] std::vector<Table::Column>::const_iterator column(const std::string& name) const {
    return std::ranges::find(results_.fits, name, &Table::Column::name);
  }
  [[nodiscard]] const Factor& factor(const std::string& name) const {
    return std::get<Factor>(column(name)->values);
  }

  const ManyResults& results_;
  std::string name_;
  std::ptrdiff_t index_ = 0;
};

}  // namespace

Model model_of(const ManyResults& results, const std::string& response) {
  if (!results.shared) throw base::usage_error("the results contain no models: fit again with covariances");
  return Model(std::make_shared<const FittedModel>(
      response_model(results.shared->fitted(), RecordInMemory(results, response))));
}

}  // namespace TESSERA_NAMESPACE::gam
