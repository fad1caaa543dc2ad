# How targets of this project are compiled, in one place.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

if(PACKHOUSE_SANITIZE)
  add_compile_options(-fsanitize=${PACKHOUSE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PACKHOUSE_SANITIZE})
endif()

# Flags of our own code; generated code and libraries do not get them.
function(packhouse_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow
                         -Wconversion -Wno-sign-conversion -Werror)
  # The same results on every machine: a product and a sum are rounded one after
  # the other, also where an instruction could do both.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -Wthread-safety)
  endif()
endfunction()

# For libraries whose loops run for every sequence: vectorised where the build
# is optimised at all, and with the instruction that counts bits. x86-64-v2 is
# every server processor since 2009.
function(packhouse_hot_loops target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -march=x86-64-v2)
  endif()
endfunction()

# packhouse_library(NAME SOURCES ... DEPS ...): a library whose headers are
# included by their path from the top of the tree.
function(packhouse_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  packhouse_compile_options(${name})
endfunction()

# packhouse_test(NAME SOURCES ... DEPS ...): a GoogleTest program; every test
# of it is known to ctest by its own name.
function(packhouse_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  packhouse_compile_options(${name})
  # Test inputs are drawn and written as plain integers.
  target_compile_options(${name} PRIVATE -Wno-conversion)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
