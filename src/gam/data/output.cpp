// SPDX-License-Identifier: Apache-2.0
#include "files/output_stream.hpp"

#include <tessera/gam/output.hpp>

namespace TESSERA_NAMESPACE::gam {

struct Output::Stream : files::OutputStream {
  using OutputStream::OutputStream;
};

Output::Output(const std::string& path) : stream_(std::make_unique<Stream>(path)) {}
Output::~Output() = default;

void Output::write(std::string_view bytes) {
  stream_->write(bytes);
}
std::string Output::commit() {
  return stream_->commit();
}
const std::string& Output::name() const {
  return stream_->name();
}

void require_writable(const std::string& path) {
  const files::OutputFile file(path);
}

}  // namespace TESSERA_NAMESPACE::gam
