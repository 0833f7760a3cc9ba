# SPDX-License-Identifier: Apache-2.0
# Gives the target KernBench::systemc: SystemC as a CMake package (SystemCLanguage), else by
# pkg-config, which is all that Debian ships. A link test turns a mismatch of C++ standards into one
# sentence: libsystemc exports a version symbol that encodes the standard it was built with.

add_library(kernbench_systemc INTERFACE)
add_library(KernBench::systemc ALIAS kernbench_systemc)

find_package(SystemCLanguage CONFIG QUIET)
if(SystemCLanguage_FOUND)
  set(_systemc_target SystemC::systemc)
  set(KERNBENCH_SYSTEMC_FROM "CMake package SystemCLanguage ${SystemCLanguage_VERSION}")
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(SYSTEMC QUIET IMPORTED_TARGET systemc)
  if(NOT SYSTEMC_FOUND)
    message(FATAL_ERROR "SystemC was found neither as a CMake package (SystemCLanguage) nor by "
                        "pkg-config (systemc). On Debian: apt-get install libsystemc-dev pkg-config")
  endif()
  set(_systemc_target PkgConfig::SYSTEMC)
  set(KERNBENCH_SYSTEMC_FROM "pkg-config systemc ${SYSTEMC_VERSION}")
endif()
target_link_libraries(kernbench_systemc INTERFACE ${_systemc_target})

file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/systemc_link_test.cpp
     "#include <systemc>\nint sc_main(int, char**) { return 0; }\n")
try_compile(KERNBENCH_SYSTEMC_LINKS ${CMAKE_CURRENT_BINARY_DIR}/systemc_link_test
            SOURCES ${CMAKE_CURRENT_BINARY_DIR}/systemc_link_test.cpp
            LINK_LIBRARIES ${_systemc_target}
            CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
            OUTPUT_VARIABLE _systemc_link_output)
if(NOT KERNBENCH_SYSTEMC_LINKS)
  message(FATAL_ERROR
    "A one-line sc_main does not link against SystemC (${KERNBENCH_SYSTEMC_FROM}) as C++17. Most "
    "often libsystemc was built with another C++ standard; KernBench needs one built with C++17 "
    "(Debian's libsystemc-dev is). The linker said:\n${_systemc_link_output}")
endif()
message(STATUS "SystemC: ${KERNBENCH_SYSTEMC_FROM}, links as C++17")

if(KERNBENCH_SANITIZE)
  target_sources(kernbench_systemc INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${KernBench_SOURCE_DIR}/tlm_if/sanitizer_stack.cpp>)
endif()
