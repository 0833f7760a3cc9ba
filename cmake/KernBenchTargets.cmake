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
endif()

# kernbench_add_library(<name> SOURCES <files> [PUBLIC <targets>] [PRIVATE <targets>])
function(kernbench_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(kernbench_${name} STATIC ${arg_SOURCES})
  add_library(KernBench::${name} ALIAS kernbench_${name})
  target_compile_features(kernbench_${name} PUBLIC cxx_std_17)
  set_target_properties(kernbench_${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(kernbench_${name} PUBLIC ${KernBench_SOURCE_DIR})
  target_link_libraries(kernbench_${name} PUBLIC ${arg_PUBLIC}
                        PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:kernbench_flags>)
endfunction()
