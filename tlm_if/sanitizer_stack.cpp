// SPDX-License-Identifier: Apache-2.0
// Linked into SystemC executables built with the address sanitizer, and into no others.
//
// SystemC tells the sanitizer about most stack switches, but not about the stack of main(), and not
// when a process ends by an exception. The sanitizer then cleans the wrong stack before an
// exception unwinds main()'s stack, and later reports false overflows there.
#include <dlfcn.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <cstddef>

namespace {

struct Stack {
  char* begin = nullptr;
  std::size_t size = 0;
};

Stack stack_of_main() {
  Stack stack;
  void* begin = nullptr;
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &stack.size);
  pthread_attr_destroy(&attributes);
  stack.begin = static_cast<char*>(begin);
  return stack;
}

}  // namespace

/// Called before code that does not return, such as a throw. The linker finds it before the
/// sanitizer's own version.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" __attribute__((no_sanitize("address"))) void __asan_handle_no_return() {
  static const auto kOfSanitizer =
      reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "__asan_handle_no_return"));
  static const Stack kStack = stack_of_main();
  const char* here = static_cast<char*>(__builtin_frame_address(0));
  if (here >= kStack.begin && here < kStack.begin + kStack.size) {
    __sanitizer_start_switch_fiber(nullptr, kStack.begin, kStack.size);
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
  }
  kOfSanitizer();
}
