# SPDX-License-Identifier: Apache-2.0
# kernbench_add_binary(<name> TOPOLOGY <file.yaml> [KERNELS <file.cpp> ...] [CATALOGUE])
#
# An executable with the whole command line (contract 11) for one topology, whose YAML it carries.
# Each KERNELS file foo.cpp defines `kernbench::kernels::Kernel foo();` in the global namespace.
# CATALOGUE adds the kernels that ship with KernBench. The list is explicit: nothing registers
# itself (R11.2). Relative paths are relative to the calling CMakeLists.txt.
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

  get_filename_component(topology_path "${arg_TOPOLOGY}" ABSOLUTE)
  get_filename_component(topology_name "${topology_path}" NAME)
  if(NOT EXISTS "${topology_path}")
    message(FATAL_ERROR "${where}: the topology ${topology_path} does not exist")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${topology_path}")
  file(READ "${topology_path}" topology_text)
  if(topology_text MATCHES "\\)kernbench_yaml\"")
    message(FATAL_ERROR "${where}: ${topology_path} contains ')kernbench_yaml\"', which ends the "
                        "string literal that it is embedded in; remove that text")
  endif()

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
