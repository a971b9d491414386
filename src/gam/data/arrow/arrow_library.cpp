// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_library.hpp"

#include "base/own_folder.hpp"
#include "base/shared_library.hpp"
#include "files/input_file.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view plugin_name = "libtessera_arrow.so";
/// Limit for a plugin's size; with debugging information a plugin has a few MB.
constexpr std::int64_t most_plugin_bytes = std::int64_t{1} << 28;

std::vector<std::string> places() {
  if (const char* const set = std::getenv("TESSERA_ARROW_PLUGIN"); set != nullptr && *set != '\0')
    return {set};
  std::vector<std::string> places;
  if (const fs::path folder = base::own_folder(); !folder.empty()) {
    places.push_back(folder / plugin_name);
    places.push_back((folder / TESSERA_LIBRARIES_FROM_BINDIR / plugin_name).lexically_normal());
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    places.push_back(fs::path(home) / ".local/lib/tessera" / plugin_name);
  return places;
}

/// The libarrow that a plugin needs: a text in the plugin's file names it. Empty without that text: the
/// plugin has another version.
fs::path needed_by(const std::string& file) {
  const std::string text = files::read_text(file, most_plugin_bytes);
  const std::size_t begin = text.find(TESSERA_ARROW_PLUGIN_NEEDS);
  if (begin == std::string::npos) return {};
  const std::string_view rest = std::string_view(text).substr(begin + sizeof TESSERA_ARROW_PLUGIN_NEEDS - 1);
  const std::string_view needs = rest.substr(0, rest.find('\0'));
  const std::size_t line = needs.find('\n');
  return line == std::string_view::npos ? fs::path()
                                        : fs::path(needs.substr(line + 1)) / needs.substr(0, line);
}

/// The path of a loaded library with this name, in this process.
std::optional<fs::path> loaded(const fs::path& name) {
  struct Search {
    const fs::path& name;
    std::optional<fs::path> found{};
  } search{name};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const fs::path path(object->dlpi_name == nullptr ? "" : object->dlpi_name);
        if (path.filename() != wanted.name) return 0;
        wanted.found = path;
        return 1;
      },
      &search);
  return search.found;
}

ArrowLibrary open_plugin(const std::string& file) {
  const auto refused = [](std::string why) { return ArrowLibrary{nullptr, std::move(why)}; };
  const fs::path needed = needed_by(file);
  if (needed.empty()) return refused(fmt::format("{} is not a plugin of this version of Tessera", file));
  if (const auto other = loaded(needed.filename())) {
    std::error_code failed;
    if (!fs::equivalent(*other, needed, failed))
      return refused(
          fmt::format("{} needs {}, but this process has loaded {}", file, needed.string(), other->string()));
  }
  const base::SharedLibrary library(file, base::SharedLibrary::Opening::kept_open_resolved);
  if (!library.is_open()) return refused(library.why_not());
  decltype(&tessera_arrow_functions) functions = nullptr;
  ArrowLibrary opened;
  if (library.find(functions, "tessera_arrow_functions"))
    opened.plugin = functions(TESSERA_ARROW_PLUGIN_VERSION);
  if (opened.plugin == nullptr)
    opened.why_not =
        fmt::format("{} was built for another version of Tessera or of libarrow: build it again", file);
  return opened;
}

}  // namespace

const ArrowLibrary& ArrowLibrary::opened() {
  static const ArrowLibrary library = first_of(places());
  return library;
}

ArrowLibrary ArrowLibrary::first_of(const std::vector<std::string>& files) {
  try {
    for (const std::string& file : files) {
      std::error_code failed;
      if (fs::exists(file, failed)) return open_plugin(file);
    }
    return {nullptr, fmt::format("no plugin exists at {}", fmt::join(files, ", "))};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

std::string ArrowLibrary::advice() const {
  std::string command = "cmake -D TESSERA_ENABLE_ARROW=ON";
  for (const char* const share : {TESSERA_SHARE_FROM_BINDIR, TESSERA_SHARE_FROM_LIBDIR}) {
    const fs::path script = (base::own_folder() / share / "arrow/install_plugin.cmake").lexically_normal();
    std::error_code failed;
    if (fs::exists(script, failed)) command = "cmake -P " + script.string();
  }
  return fmt::format(
      "needs the plugin {} ({}): build the plugin by '{}' on a machine with Apache Arrow or pyarrow, or read "
      "the file in Python",
      plugin_name, printable(why_not), command);
}

}  // namespace TESSERA_NAMESPACE::gam
