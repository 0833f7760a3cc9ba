# SPDX-License-Identifier: Apache-2.0
# Gives the target KernBench::systemc: SystemC as a CMake package (SystemCLanguage), else by
# pkg-config, which is all that Debian ships. For the build of KernBench and for its package, which
# finds SystemC anew on the user's machine. If there is none, or one that does not link, the target
# is not there and KERNBENCH_SYSTEMC_PROBLEM is a sentence that says why.

set(KERNBENCH_SYSTEMC_PROBLEM "")
if(TARGET KernBench::systemc)
  return()
endif()

# A package registry may name a build tree that is gone.
find_package(SystemCLanguage CONFIG QUIET NO_CMAKE_PACKAGE_REGISTRY
             NO_CMAKE_SYSTEM_PACKAGE_REGISTRY)
if(SystemCLanguage_FOUND)
  set(_kernbench_systemc SystemC::systemc)
  set(KERNBENCH_SYSTEMC_VERSION "${SystemCLanguage_VERSION}")
  set(KERNBENCH_SYSTEMC_FROM
      "CMake package SystemCLanguage ${SystemCLanguage_VERSION} in ${SystemCLanguage_DIR}")
else()
  # For all of a project that has KernBench as a subdirectory.
  set(_kernbench_scope "")
  if(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
    set(_kernbench_scope GLOBAL)
  endif()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(KERNBENCH_SYSTEMC QUIET IMPORTED_TARGET ${_kernbench_scope} systemc)
  endif()
  if(NOT KERNBENCH_SYSTEMC_FOUND)
    set(KERNBENCH_SYSTEMC_PROBLEM
        "SystemC was found neither as a CMake package (SystemCLanguage) nor by pkg-config "
        "(systemc). On Debian: apt-get install libsystemc-dev pkg-config. Elsewhere add the prefix "
        "where SystemC is installed to CMAKE_PREFIX_PATH")
    string(CONCAT KERNBENCH_SYSTEMC_PROBLEM ${KERNBENCH_SYSTEMC_PROBLEM})
    return()
  endif()
  set(_kernbench_systemc PkgConfig::KERNBENCH_SYSTEMC)
  set(KERNBENCH_SYSTEMC_FROM
      "pkg-config systemc ${KERNBENCH_SYSTEMC_VERSION}, ${KERNBENCH_SYSTEMC_LINK_LIBRARIES}")
endif()

# A link test turns a mismatch of C++ standards into one sentence: libsystemc exports a version
# symbol that encodes the standard it was built with. Once is enough.
if(NOT KERNBENCH_SYSTEMC_LINKS_FROM STREQUAL KERNBENCH_SYSTEMC_FROM)
  try_compile(_kernbench_links
              SOURCE_FROM_CONTENT systemc_link_test.cpp
                "#include <systemc>\nint sc_main(int, char**) { return 0; }\n"
              LINK_LIBRARIES ${_kernbench_systemc}
              CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
              NO_CACHE OUTPUT_VARIABLE _kernbench_link_output)
  if(NOT _kernbench_links)
    string(CONCAT KERNBENCH_SYSTEMC_PROBLEM
           "A one-line sc_main does not link against SystemC (${KERNBENCH_SYSTEMC_FROM}) as C++17. "
           "Most often libsystemc was built with another C++ standard; KernBench needs one built "
           "with C++17 (Debian's libsystemc-dev is). The linker said:\n${_kernbench_link_output}")
    return()
  endif()
  set(KERNBENCH_SYSTEMC_LINKS_FROM "${KERNBENCH_SYSTEMC_FROM}" CACHE INTERNAL
      "The SystemC that a one-line sc_main linked against")
  message(STATUS "SystemC: ${KERNBENCH_SYSTEMC_FROM}, links as C++17")
endif()

add_library(KernBench::systemc INTERFACE IMPORTED ${_kernbench_scope})
target_compile_features(KernBench::systemc INTERFACE cxx_std_17)
target_link_libraries(KernBench::systemc INTERFACE ${_kernbench_systemc})
