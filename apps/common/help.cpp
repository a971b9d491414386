// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "common/pages.hpp"
#include "common/value.hpp"

namespace tessera::apps {
namespace {

class Layout : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return {};
    const Value value = value_of(*option);
    std::string words;
    for (const std::string& choice : value.choices) words += (words.empty() ? " " : "|") + choice;
    return words.empty() && !value.name.empty() ? " " + value.name : words;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string notes;
    const auto add = [&](const std::string& note) { notes += (notes.empty() ? " (" : ", ") + note; };
    if (option->get_required() && !option->get_positional()) add("required");
    if (std::string limits = value_of(*option).limits; !limits.empty()) {
      if (const std::size_t dash = limits.find(" - "); dash != std::string::npos)
        limits.replace(dash, 3, " to ");
      add(limits);
    }
    if (const std::string preset = option->get_default_str(); !preset.empty()) add("default " + preset);
    return option->get_description() + (notes.empty() ? "" : notes + ")");
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_layout() {
  return std::make_shared<Layout>();
}

}  // namespace tessera::apps
