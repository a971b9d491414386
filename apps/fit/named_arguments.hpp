// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/options.hpp>

#include <initializer_list>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace TESSERA_NAMESPACE::gam {

/// The library's options (options.hpp) on a program's command line. The CLI::App keeps pointers to this
/// object's members, so this object must outlive it.
class NamedArguments {
 public:
  /// Adds the options of a set that are not yet added. If `only` is not empty, adds only these names. A flag
  /// that is true by default becomes `--NAME true|false` and `--no-NAME`.
  void add_to(CLI::App& command, OptionSet set, std::initializer_list<std::string_view> only = {});

  /// The options given by the user, for `read_options`: "--gamma", "1.4".
  [[nodiscard]] std::vector<NamedOption> given() const;
  /// The last value given by the user to an option, or its default.
  [[nodiscard]] std::string value_of(std::string_view name) const;
  /// Sets the members of `options` that the user has given. Throws `Error(usage)` for an invalid value.
  template <class Options>
  void read(Options& options) const {
    std::vector<NamedOption> all = given();
    read_options(all, options);
  }
  template <class Options>
  [[nodiscard]] Options read() const {
    Options options;
    read(options);
    return options;
  }

 private:
  struct Argument {
    OptionInfo info;
    std::vector<std::string> values{};
    bool set = false;
    bool unset = false;
  };
  [[nodiscard]] bool has(std::string_view name) const;
  std::list<Argument> arguments_;
};

}  // namespace TESSERA_NAMESPACE::gam
