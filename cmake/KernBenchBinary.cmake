# SPDX-License-Identifier: Apache-2.0
# kernbench_add_binary(<name> TOPOLOGY <file.yaml> [KERNELS <file.cpp> ...] [CATALOGUE])
#
# An executable with the whole command line (contract 11) for one topology, whose YAML it carries,
# with that of the files which it includes, each on a line `include: FILE.yaml` of its own.
# Each KERNELS file foo.cpp defines `kernbench::kernels::Kernel foo();` in the global namespace.
# CATALOGUE adds the kernels that ship with KernBench. The list is explicit: nothing registers
# itself (R11.2). Relative paths are relative to the calling CMakeLists.txt.

# Sets <out> to the text of a YAML file that is to be embedded, and configures anew when it changes.
function(kernbench_embedded_text out where path)
  if(NOT EXISTS "${path}" OR IS_DIRECTORY "${path}")
    message(FATAL_ERROR "${where}: the topology ${path} does not exist")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  file(READ "${path}" text)
  if(text MATCHES "\\)kernbench_yaml\"")
    message(FATAL_ERROR "${where}: ${path} contains ')kernbench_yaml\"', which ends the "
                        "string literal that it is embedded in; remove that text")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Sets <out> to the path on the line `include: PATH` of a YAML text, empty if there is none.
function(kernbench_included_path out text)
  set(path "")
  if(text MATCHES "(^|\n)include[ \t]*:[ \t]+([^\r\n]+)")
    string(REGEX REPLACE "(^|[ \t]+)#.*$" "" path "${CMAKE_MATCH_2}")
    string(STRIP "${path}" path)
    string(REGEX REPLACE "^(['\"])(.*)['\"]$" "\\2" path "${path}")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# Sets <out>_name, <out>_text and <out>_includes, the last as a C++ initialiser of
# arch::TopologyIncludes, from a topology and the files that it includes.
function(kernbench_embed_topology out where topology)
  get_filename_component(topology_path "${topology}" ABSOLUTE)
  get_filename_component(topology_name "${topology_path}" NAME)
  get_filename_component(topology_folder "${topology_path}" DIRECTORY)
  kernbench_embedded_text(topology_text "${where}" "${topology_path}")

  # Each file includes at most one other: a chain. What is named here is its path from the folder of
  # the topology, as in arch::TopologyIncludes; the program refuses a chain that is a circle.
  set(topology_includes "")
  set(embedded "${topology_name}")
  set(file "${topology_name}")
  kernbench_included_path(next "${topology_text}")
  while(NOT next STREQUAL "")
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(APPEND folder "${next}" OUTPUT_VARIABLE file)
    cmake_path(NORMAL_PATH file)
    if(file IN_LIST embedded)
      break()
    endif()
    list(APPEND embedded "${file}")
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${topology_folder}" NORMALIZE
               OUTPUT_VARIABLE included_path)
    kernbench_embedded_text(included_text "${where}" "${included_path}")
    string(APPEND topology_includes "{R\"kernbench_yaml(${file})kernbench_yaml\", "
                                    "R\"kernbench_yaml(${included_text})kernbench_yaml\"},")
    kernbench_included_path(next "${included_text}")
  endwhile()
  foreach(part name text includes)
    set(${out}_${part} "${topology_${part}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(kernbench_add_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CATALOGUE" "TOPOLOGY" "KERNELS")
  set(where "kernbench_add_binary(${name})")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${where}: unknown argument '${arg_UNPARSED_ARGUMENTS}'; "
                        "allowed are TOPOLOGY, KERNELS and CATALOGUE")
  endif()
  if(NOT arg_TOPOLOGY)
    message(FATAL_ERROR "${where}: no topology; add TOPOLOGY <file.yaml>")
  endif()
  if(NOT arg_KERNELS AND NOT arg_CATALOGUE)
    message(FATAL_ERROR "${where}: no kernels; add KERNELS <file.cpp> ... or CATALOGUE")
  endif()

  kernbench_embed_topology(topology "${where}" "${arg_TOPOLOGY}")

  set(kernel_declarations "")
  set(kernel_additions "")
  set(shipped_kernels "{}")
  if(arg_CATALOGUE)
    set(shipped_kernels "kernbench::kernels::catalogue()")
  endif()
  foreach(file IN LISTS arg_KERNELS)
    get_filename_component(path "${file}" ABSOLUTE)
    get_filename_component(kernel "${file}" NAME_WE)
    if(NOT EXISTS "${path}")
      message(FATAL_ERROR "${where}: the kernel file ${path} does not exist")
    endif()
    if(NOT kernel MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
      message(FATAL_ERROR "${where}: the kernel file ${path} must be named like the function that it "
                          "defines, and '${kernel}' is not a C++ identifier; rename it")
    endif()
    string(APPEND kernel_declarations "kernbench::kernels::Kernel ${kernel}();  // ${kernel}.cpp\n")
    string(APPEND kernel_additions "  kernels.push_back(::${kernel}());\n")
  endforeach()

  set(binary_name "${name}")
  set(main_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_main.cpp")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernbench_main.cpp.in" "${main_file}" @ONLY)
  add_executable(${name} "${main_file}" ${arg_KERNELS})
  target_compile_features(${name} PRIVATE cxx_std_17)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE KernBench::runtime KernBench::kernels KernBench::systemc)
endfunction()
