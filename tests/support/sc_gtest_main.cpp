// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <systemc>

int sc_main(int argc, char** argv) {
  // An error or fatal report must fail the test, not abort the process.
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
