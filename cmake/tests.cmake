# Unit tests and replays of the fuzzers' corpora, each kind in one program because linking is a large part of a build, and the fuzzers.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB PARLEY_FUZZERS CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
set(PARLEY_FUZZED)
foreach(source ${PARLEY_FUZZERS})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE fuzz_ "" name ${name})
  list(APPEND PARLEY_FUZZED ${name})
endforeach()
# What fuzzers call. In archives, because libFuzzer visits the counters of all code that is linked after every input; the
# registry is apart, because it refers to everything.
add_library(parley_fuzzed STATIC EXCLUDE_FROM_ALL tests/fuzz/only_formats.c cli/hosts.c cli/pmi_protocol.c
                                                  $<FILTER:$<TARGET_OBJECTS:parley_objects>,EXCLUDE,/src/members[.]c>)
add_library(parley_registry STATIC EXCLUDE_FROM_ALL
            $<FILTER:$<TARGET_OBJECTS:parley_objects>,INCLUDE,/src/members[.]c>)
set_target_properties(parley_registry PROPERTIES LINKER_LANGUAGE C)
target_include_directories(parley_fuzzed PUBLIC include src cli)
target_link_libraries(parley_registry PUBLIC parley_fuzzed)
target_link_libraries(parley_fuzzed PUBLIC parley_registry PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::LZMA BZip2::BZip2
                                           Threads::Threads ${CMAKE_DL_LIBS} m)
if(PARLEY_SANITIZE MATCHES address)
  target_sources(parley_fuzzed PRIVATE tests/fuzz/wrapped_base.c)
  foreach(function span_reserve span_trim span_free span_drop pages_drop pool_run)
    target_link_options(parley_fuzzed INTERFACE -Wl,--wrap=pl_${function})
  endforeach()
endif()
# Tests that start no thread, and those of what `auto` chooses, which train as test_train does: running them under
# ThreadSanitizer would show nothing.
set(PARLEY_SERIAL auto container kept_model lock loss memory outer_products pacing packet random second_order settings sparse)

if(PARLEY_TESTS)
  enable_testing()
  set(PARLEY_TEST_LISTS ${CMAKE_BINARY_DIR}/tests/lists)
  # The unit tests: `unit NAME` runs tests/unit/test_NAME.c, whose main has the name of the file.
  file(GLOB PARLEY_UNIT_TESTS CONFIGURE_DEPENDS tests/unit/test_*.c)
  set(PARLEY_TEST_LIST)
  foreach(source ${PARLEY_UNIT_TESTS})
    get_filename_component(name ${source} NAME_WE)
    set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS main=${name})
    string(REPLACE test_ "" subject ${name})
    string(APPEND PARLEY_TEST_LIST "TEST(${subject})\n")
    add_test(NAME ${name} COMMAND unit ${subject})
    if(subject IN_LIST PARLEY_SERIAL)
      set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
    else()
      set_tests_properties(${name} PROPERTIES LABELS "unit;threads" TIMEOUT 300)
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PARLEY_TEST_LISTS}/unit_tests.h CONTENT "${PARLEY_TEST_LIST}")
  add_executable(unit tests/unit/unit_main.c tests/unit/support.c ${PARLEY_UNIT_TESTS})
  target_include_directories(unit PRIVATE ${PARLEY_TEST_LISTS})
  target_link_libraries(unit PRIVATE parley_objects PkgConfig::CMOCKA)
  target_compile_options(unit PRIVATE -O1)
  set_target_properties(unit PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # The command line with allocations that fail (tests/fault/allocations.py).
  set(PARLEY_CLI_PARTS $<FILTER:$<TARGET_OBJECTS:parley>,EXCLUDE,/cli/main[.]c>)
  add_executable(parley-failing tests/fault/failing_main.c cli/main.c ${PARLEY_CLI_PARTS})
  target_link_libraries(parley-failing PRIVATE parley_objects)
  target_compile_definitions(parley-failing PRIVATE PL_MAIN=parley_main)
  # A second problem, which exists in tests only: the same program with k-means in its registry, and a unit test.
  add_library(kmeans_objects OBJECT tests/problem/kmeans_model.c tests/problem/kmeans_problem.c
                                    tests/problem/kmeans_local.c tests/problem/kmeans_step.c src/members.c)
  target_compile_definitions(kmeans_objects PRIVATE PL_EXTRA_MEMBERS="kmeans_members.h")
  target_include_directories(kmeans_objects PRIVATE tests/problem include src)
  set(KMEANS_PARTS $<FILTER:$<TARGET_OBJECTS:parley_objects>,EXCLUDE,/src/members[.]c>
                   $<TARGET_OBJECTS:kmeans_objects>)
  add_executable(parley-kmeans $<TARGET_OBJECTS:parley> ${KMEANS_PARTS})
  add_executable(test_kmeans tests/problem/test_kmeans.c tests/unit/support.c ${KMEANS_PARTS})
  target_include_directories(test_kmeans PRIVATE tests/unit tests/problem)
  target_link_libraries(test_kmeans PRIVATE PkgConfig::CMOCKA)
  set_target_properties(test_kmeans PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(name parley-kmeans test_kmeans)
    target_include_directories(${name} PRIVATE include src)
    target_link_libraries(${name} PRIVATE PkgConfig::JANSSON PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::LZMA BZip2::BZip2
                          Threads::Threads
                                          ${CMAKE_DL_LIBS} m)
  endforeach()
  add_test(NAME test_kmeans COMMAND test_kmeans)
  set_tests_properties(test_kmeans PROPERTIES LABELS "unit;threads" TIMEOUT 300)
  foreach(name test_train test_server test_checkpoint test_ranks test_scd test_lost_messages test_certificate) # the longest, first
    set_tests_properties(${name} PROPERTIES COST 1)
  endforeach()
  # Makes one system call of a command fail, for tests/fault.
  add_executable(fail_call tests/fault/fail_call.c)
  set_target_properties(fail_call PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # The replays: `replay NAME FOLDER` runs tests/fuzz/fuzz_NAME.c over the files of a folder.
  set(PARLEY_TEST_LIST)
  foreach(name ${PARLEY_FUZZED})
    set_source_files_properties(tests/fuzz/fuzz_${name}.c PROPERTIES COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=fuzz_${name})
    string(APPEND PARLEY_TEST_LIST "FUZZER(${name})\n")
    add_test(NAME replay_${name} COMMAND replay ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(replay_${name} PROPERTIES LABELS replay TIMEOUT 120)
  endforeach()
  file(CONFIGURE OUTPUT ${PARLEY_TEST_LISTS}/fuzzers.h CONTENT "${PARLEY_TEST_LIST}")
  add_executable(replay tests/fuzz/replay_corpus.c ${PARLEY_FUZZERS})
  target_include_directories(replay PRIVATE ${PARLEY_TEST_LISTS})
  target_link_libraries(replay PRIVATE parley_fuzzed)
  set_target_properties(replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
elseif(PARLEY_FUZZ) # not with the tests, which give the functions of fuzzers other names
  foreach(name ${PARLEY_FUZZED})
    add_executable(fuzz_${name} tests/fuzz/fuzz_${name}.c)
    target_link_libraries(fuzz_${name} PRIVATE parley_fuzzed)
    target_compile_options(fuzz_${name} PRIVATE -fno-sanitize=fuzzer-no-link) # its own branches are of no interest
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
