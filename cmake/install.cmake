# What `make install` puts where. The man page and the completions are written by the binary itself, from its tables.
set(PARLEY_DOCUMENTS ${CMAKE_BINARY_DIR}/parley.1 ${CMAKE_BINARY_DIR}/parley.bash ${CMAKE_BINARY_DIR}/_parley)
add_custom_command(
  OUTPUT ${PARLEY_DOCUMENTS}
  COMMAND parley document man > ${CMAKE_BINARY_DIR}/parley.1
  COMMAND parley document bash > ${CMAKE_BINARY_DIR}/parley.bash
  COMMAND parley document zsh > ${CMAKE_BINARY_DIR}/_parley
  DEPENDS parley
  VERBATIM)
add_custom_target(parley_documents ALL DEPENDS ${PARLEY_DOCUMENTS})

# The path from parley.pc up to the prefix: an installed tree may be moved.
file(RELATIVE_PATH PARLEY_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PARLEY_PC_TO_PREFIX "${PARLEY_PC_TO_PREFIX}")
configure_file(cmake/parley.pc.in parley.pc @ONLY)

install(TARGETS parley parley_library)
install(FILES include/parley.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/parley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/parley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/parley.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME parley)
install(FILES ${CMAKE_BINARY_DIR}/_parley DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# The loader finds a new library in a system folder only after ldconfig; where that may not be run it is harmless.
install(CODE [[
  if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$" AND "$ENV{DESTDIR}" STREQUAL "")
    execute_process(COMMAND /sbin/ldconfig OUTPUT_QUIET ERROR_QUIET)
  endif()
]])

# What the Python package holds besides Python: the library and its header, of which cffi makes the declarations.
install(FILES $<TARGET_FILE:parley_library> DESTINATION parley RENAME libparley.so COMPONENT python EXCLUDE_FROM_ALL)
install(FILES include/parley.h DESTINATION parley COMPONENT python EXCLUDE_FROM_ALL)
# For the ranks that parley.spark starts on several executors. The MPI library comes with the wheel (tools/wheel.sh).
if(TARGET parley_mpich)
  install(TARGETS parley_mpich DESTINATION parley COMPONENT python EXCLUDE_FROM_ALL)
  add_dependencies(parley parley_mpich)
endif()
# The command of the same name, beside Python's own.
if(SKBUILD)
  install(PROGRAMS $<TARGET_FILE:parley> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python EXCLUDE_FROM_ALL)
endif()
