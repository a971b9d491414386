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

/// The options of the library's table on the command line of a command. The application refers to this
/// object.
class NamedArguments {
 public:
  /// Adds those of a set, or those that are named alone; none that is there already. A flag that is set by
  /// default becomes `--NAME true|false` and `--no-NAME`.
  void add_to(CLI::App& command, OptionSet set, std::initializer_list<std::string_view> only = {});

  /// What the user has given, as `read_options` takes it: "--gamma", "1.4".
  [[nodiscard]] std::vector<NamedOption> given() const;
  /// The last value that the user has given to an option, or else its default.
  [[nodiscard]] std::string value_of(std::string_view name) const;
  /// Sets those of the options that the user has given. Throws `Error(usage)`.
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
    std::vector<std::string> values;
    bool set = false;
    bool unset = false;
  };
  [[nodiscard]] bool has(std::string_view name) const;
  std::list<Argument> arguments_;
};

}  // namespace TESSERA_NAMESPACE::gam
