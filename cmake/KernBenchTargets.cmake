# SPDX-License-Identifier: Apache-2.0
# One way to declare a library of this project; folder boundaries are link targets (contract 1).

# Flags of own code. They are private: a user of the libraries gets none of them but the standard.
add_library(kernbench_flags INTERFACE)
target_compile_features(kernbench_flags INTERFACE cxx_std_17)
# Sums must not be contracted to fma: results are bit-stable across compilers (R8.2).
target_compile_options(kernbench_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -ffp-contract=off)
if(KERNBENCH_WARNINGS_AS_ERRORS)
  target_compile_options(kernbench_flags INTERFACE -Werror)
endif()
if(KERNBENCH_SANITIZE)
  # GCC's own warning is wrong about inlined library code under the sanitizers.
  target_compile_options(kernbench_flags
                         INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  target_sources(KernBench::systemc INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${KernBench_SOURCE_DIR}/tlm_if/sanitizer_stack.cpp>)
endif()

if(KERNBENCH_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage, which guides libFuzzer
endif()

# For what is installed: no path of the build machine in reports (__FILE__) or debug information; the
# last one goes first.
set(KERNBENCH_NO_BUILD_PATHS -ffile-prefix-map=${KernBench_SOURCE_DIR}/=
                             -ffile-prefix-map=${CMAKE_BINARY_DIR}=.)

set(KERNBENCH_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR}/kernbench)
set(KERNBENCH_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/KernBench)

# kernbench_add_library(<name> SOURCES <files> [PUBLIC <targets>] [PRIVATE <targets>])
# A private target that is headers only is given as $<BUILD_INTERFACE:..>: who links the installed
# library does not need it.
function(kernbench_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(kernbench_${name} STATIC ${arg_SOURCES})
  add_library(KernBench::${name} ALIAS kernbench_${name})
  target_compile_features(kernbench_${name} PUBLIC cxx_std_17)
  # Whatever standard a surrounding project has chosen.
  set_target_properties(kernbench_${name} PROPERTIES
                        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(kernbench_${name} PRIVATE ${KERNBENCH_NO_BUILD_PATHS})
  target_include_directories(kernbench_${name} PUBLIC
                             $<BUILD_INTERFACE:${KernBench_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${KERNBENCH_INSTALL_INCLUDEDIR}>)
  target_link_libraries(kernbench_${name} PUBLIC ${arg_PUBLIC}
                        PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:kernbench_flags>)

  # For the package, whose half without SystemC can be used where there is none.
  set_target_properties(kernbench_${name} PROPERTIES EXPORT_NAME ${name})
  set(half HOST)
  foreach(target IN LISTS arg_PUBLIC)
    get_target_property(links_systemc ${target} KERNBENCH_LINKS_SYSTEMC)
    if(target STREQUAL "KernBench::systemc" OR links_systemc)
      set(half SYSTEMC)
      set_target_properties(kernbench_${name} PROPERTIES KERNBENCH_LINKS_SYSTEMC ON)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY KERNBENCH_${half}_LIBRARIES ${name})
endfunction()
