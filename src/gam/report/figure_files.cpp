// SPDX-License-Identifier: Apache-2.0
#include "base/csv_text.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

#include <tessera/gam/report.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tessera/error.hpp>
#include <utility>
#include <vector>

#include "files/input_file.hpp"
#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

constexpr const char* list_name = "figures.csv";
constexpr std::string_view list_heading = "file,checksum,figure";
/// Maximum size in bytes of an existing file that is read: more than any figure needs.
constexpr std::int64_t largest_figure = std::int64_t{1} << 28;

std::string checksum(std::string_view text) {
  return base::hex(base::fnv1a(text));
}

/// The text of a regular file; empty if there is no file.
std::optional<std::string> text_of(const std::string& path) {
  std::error_code problem;
  if (fs::symlink_status(path, problem).type() == fs::file_type::not_found) return std::nullopt;
  if (!fs::is_regular_file(path, problem))
    throw base::input_error("{}: the path is not a regular file: give another folder", path);
  return files::read_text(path, largest_figure);
}

/// Parses figures.csv: checksums by file name. Empty for any other text.
std::map<std::string, std::string, std::less<>> checksums_in(std::string_view list) {
  std::map<std::string, std::string, std::less<>> found;
  const std::vector<std::string_view> lines = base::split(list, '\n');
  if (lines.front() != list_heading) return found;
  for (const std::string_view line : lines) {
    const std::size_t comma = line.find(',');
    if (comma != std::string_view::npos)
      found.emplace(line.substr(0, comma), line.substr(comma + 1, checksum("").size()));
  }
  return found;
}

/// The files of a report's figures: NAME.svg, NAME.csv and NAME-points.csv, and their list with checksums,
/// figures.csv.
class FigureFiles {
 public:
  FigureFiles(std::string folder, std::span<const ReportFigure> figures);

  [[nodiscard]] std::vector<std::string> paths() const;
  /// Throws if a file of `paths` exists and is not in figures.csv with its present checksum.
  void refuse_others() const;
  [[nodiscard]] std::string write() const;

 private:
  struct File {
    std::string name;
    std::string text;
  };
  [[nodiscard]] std::string path_of(const File& file) const { return folder_ + '/' + file.name; }

  std::string folder_;
  std::vector<File> files_;  ///< figures.csv comes last
};

FigureFiles::FigureFiles(std::string folder, std::span<const ReportFigure> figures)
    : folder_(std::move(folder)) {
  std::string list(list_heading);
  list += '\n';
  const auto add = [&](const ReportFigure& figure, const char* end, const std::string& text) {
    if (text.empty()) return;
    files_.push_back({figure.name + end, text});
    list += fmt::format("{},{},{}\n", files_.back().name, checksum(text), base::in_quotes(figure.label));
  };
  for (const ReportFigure& figure : figures) {
    add(figure, ".svg", figure.svg);
    add(figure, ".csv", figure.csv);
    add(figure, "-points.csv", figure.points);
  }
  files_.push_back({list_name, list});
}

void FigureFiles::refuse_others() const {
  const std::optional<std::string> list = text_of(folder_ + '/' + list_name);
  const auto checksums = checksums_in(list.value_or(std::string()));
  for (const File& file : files_) {
    const std::optional<std::string> there = text_of(path_of(file));
    if (!there || *there == file.text) continue;
    const auto known = checksums.find(file.name);
    if (file.name == list_name ? there->starts_with(list_heading)
                               : known != checksums.end() && known->second == checksum(*there))
      continue;
    throw base::input_error(
        "{}: the file is not a figure of an earlier report, or was changed: give another folder",
        path_of(file));
  }
}

std::vector<std::string> FigureFiles::paths() const {
  std::vector<std::string> paths;
  for (const File& file : files_) paths.push_back(path_of(file));
  return paths;
}

std::string FigureFiles::write() const {
  std::error_code problem;
  const bool is_new = fs::create_directory(folder_, problem);
  if (problem) throw base::input_error("{}: the folder cannot be created: {}", folder_, problem.message());
  std::vector<std::string> created;
  std::string warning;
  try {
    for (const File& file : files_) {
      const std::string path = path_of(file);
      const bool was_there = fs::exists(path, problem);
      files::OutputFile output(path);
      output.write(file.text);
      warning = output.commit();
      if (!was_there) created.push_back(path);
    }
  } catch (const Error&) {
    for (const std::string& path : created) fs::remove(path, problem);
    if (is_new) fs::remove(folder_, problem);
    throw;
  }
  return warning;
}

}  // namespace

std::vector<std::string> figure_paths(const std::string& folder, std::span<const ReportFigure> figures) {
  return FigureFiles(folder, figures).paths();
}

std::string save_figures(const std::string& folder, std::span<const ReportFigure> figures) {
  const FigureFiles files(folder, figures);
  files.refuse_others();
  return files.write();
}

}  // namespace TESSERA_NAMESPACE::gam
