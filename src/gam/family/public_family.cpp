// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include <tessera/gam/family.hpp>

namespace TESSERA_NAMESPACE::gam {

ResponseFamily::ResponseFamily() : definition_(std::make_shared<const Family>()) {}

std::string_view ResponseFamily::name() const {
  return definition_->name();
}

ResponseFamily family(const std::string& text) {
  ResponseFamily out;
  out.definition_ = std::make_shared<const Family>(chosen_family(text));
  if (text.starts_with('@')) out.file_ = text.substr(1);
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
