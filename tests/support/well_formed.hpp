// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// The first fault of an XML text; empty if none. Checks the nesting of elements, quotes and uniqueness of
/// attributes, and unescaped markup characters.
inline std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  const auto near = [&](std::string_view rest) {
    return " before \"" + std::string(rest.substr(0, 60)) + "\"";
  };
  const auto bad_reference = [](std::string_view rest) {
    for (const std::string_view good : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (rest.starts_with(good)) return false;
    }
    return true;
  };
  if (text.starts_with("<!DOCTYPE html>")) text.remove_prefix(15);
  while (!text.empty()) {
    if (text[0] == '&' && bad_reference(text)) return "a stray &" + near(text);
    if (text[0] == '>') return "a stray >" + near(text);
    if (text[0] != '<') {
      if (static_cast<unsigned char>(text[0]) < 0x20 && text[0] != '\n')
        return "a control character" + near(text);
      text.remove_prefix(1);
      continue;
    }
    if (text.starts_with("</")) {
      const std::string_view name = text.substr(2, text.find('>') - 2);
      if (open.empty() || open.back() != name) return "a close that opens nothing" + near(text);
      open.pop_back();
      text.remove_prefix(name.size() + 3);
      continue;
    }
    // <name attribute="value" …> or <name …/>
    const std::string_view start = text;
    text.remove_prefix(1);
    const auto word = [&] {
      std::size_t size = 0;
      while (size < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[size])) != 0 || text[size] == '-')) {
        ++size;
      }
      std::string out(text.substr(0, size));
      text.remove_prefix(size);
      return out;
    };
    const std::string name = word();
    if (name.empty()) return "a stray <" + near(start);
    std::vector<std::string> attributes;
    while (text.starts_with(' ')) {
      text.remove_prefix(1);
      attributes.push_back(word());
      for (std::size_t i = 0; i + 1 < attributes.size(); ++i) {
        if (attributes[i] == attributes.back()) return "an attribute twice" + near(start);
      }
      if (!text.starts_with("=\"")) return "an attribute without quotes" + near(start);
      text.remove_prefix(2);
      const std::string_view value = text.substr(0, text.find('"'));
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] == '<' || (value[i] == '&' && bad_reference(value.substr(i)))) {
          return "markup in an attribute" + near(start);
        }
      }
      text.remove_prefix(value.size() + 1);
    }
    if (text.starts_with("/>")) {
      text.remove_prefix(2);
    } else if (text.starts_with(">")) {
      text.remove_prefix(1);
      open.push_back(name);
    } else {
      return "an element without end" + near(start);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace TESSERA_NAMESPACE::gam::testing
