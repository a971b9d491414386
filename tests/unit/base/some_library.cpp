// SPDX-License-Identifier: Apache-2.0
// A library that a test opens and closes.
extern "C" [[gnu::visibility("default")]] int tessera_some_function() {
  return 1;
}
