# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` leaves: the programs, libraries, their headers, topologies, pages, examples,
# the package lib/cmake/KernBench for find_package(KernBench), and kernbench.pc for pkg-config. Nothing
# in it names a path of this machine, and the prefix may be moved.
include(CMakePackageConfigHelpers)

get_property(KERNBENCH_HOST_LIBRARIES GLOBAL PROPERTY KERNBENCH_HOST_LIBRARIES)
get_property(KERNBENCH_SYSTEMC_LIBRARIES GLOBAL PROPERTY KERNBENCH_SYSTEMC_LIBRARIES)

# For a linker, which takes each static library before those that it needs.
set(KERNBENCH_PC_LIBRARIES ${KERNBENCH_HOST_LIBRARIES} ${KERNBENCH_SYSTEMC_LIBRARIES})
list(REVERSE KERNBENCH_PC_LIBRARIES)
list(TRANSFORM KERNBENCH_PC_LIBRARIES PREPEND -lkernbench_)
list(JOIN KERNBENCH_PC_LIBRARIES " " KERNBENCH_PC_LIBRARIES)
set(KERNBENCH_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH KERNBENCH_PC_TO_PREFIX /${KERNBENCH_PC_DIR} /)
configure_file(cmake/kernbench.pc.in ${CMAKE_CURRENT_BINARY_DIR}/package/kernbench.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/kernbench.pc DESTINATION ${KERNBENCH_PC_DIR})

foreach(half HOST SYSTEMC)
  set(export KernBenchTargets)
  if(half STREQUAL "SYSTEMC")
    set(export KernBenchSystemCTargets)
  endif()
  list(TRANSFORM KERNBENCH_${half}_LIBRARIES PREPEND kernbench_ OUTPUT_VARIABLE targets)
  install(TARGETS ${targets} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${export} NAMESPACE KernBench:: DESTINATION ${KERNBENCH_INSTALL_CMAKEDIR})
  string(REPLACE ";" " " KERNBENCH_${half}_LIBRARIES "${KERNBENCH_${half}_LIBRARIES}")
endforeach()

# Not in a user's project, which has binaries of its own.
if(KERNBENCH_MACHINES)
  install(TARGETS ${KERNBENCH_MACHINES} tlc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY tlm_if tl kernels model runtime DESTINATION ${KERNBENCH_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
set(KERNBENCH_TOPOLOGIES ${CMAKE_INSTALL_DATADIR}/kernbench/topologies)
install(DIRECTORY topologies/ DESTINATION ${KERNBENCH_TOPOLOGIES} FILES_MATCHING PATTERN "*.yaml")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/kernbench)
# Headers and messages name pages.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kernbench)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kernbench/examples)

string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" KERNBENCH_BUILT_WITH_SYSTEMC
       "${KERNBENCH_SYSTEMC_VERSION}")
configure_package_config_file(cmake/KernBenchConfig.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/package/KernBenchConfig.cmake
                              INSTALL_DESTINATION ${KERNBENCH_INSTALL_CMAKEDIR}
                              PATH_VARS KERNBENCH_TOPOLOGIES)
# Before 1.0 each minor version may change the API.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/package/KernBenchConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/package/KernBenchConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/package/KernBenchConfigVersion.cmake
              cmake/FindSystemCModel.cmake cmake/KernBenchBinary.cmake
              cmake/KernBenchStandard.cmake cmake/kernbench_main.cpp.in
        DESTINATION ${KERNBENCH_INSTALL_CMAKEDIR})
