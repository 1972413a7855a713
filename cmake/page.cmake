# The page of `parley report --html`: report/ bundled with its chart library by Node.js, and made an array of bytes. What
# it is bundled with is installed by tools/deps.sh. Without these the program is built without a page and says so.
set(PARLEY_NPM ${CMAKE_SOURCE_DIR}/build/npm CACHE PATH "Where tools/deps.sh installed what the page is made of")
find_program(PARLEY_NODE NAMES node nodejs)
set(PARLEY_PAGE ${CMAKE_BINARY_DIR}/page)
file(MAKE_DIRECTORY ${PARLEY_PAGE})
if(PARLEY_NODE AND EXISTS ${PARLEY_NPM}/node_modules/uplot AND EXISTS ${PARLEY_NPM}/node_modules/esbuild)
  file(GLOB PARLEY_PAGE_SOURCES CONFIGURE_DEPENDS report/*.js report/*.css report/*.html report/*.mjs)
  add_custom_command(
    OUTPUT ${PARLEY_PAGE}/page_bundle.c
    COMMAND ${PARLEY_NODE} ${CMAKE_SOURCE_DIR}/report/build.mjs ${PARLEY_NPM} ${PARLEY_PAGE}
    DEPENDS ${PARLEY_PAGE_SOURCES} ${PARLEY_NPM}/node_modules/uplot/package.json
    COMMENT "Bundling the page of reports"
    VERBATIM)
else()
  message(STATUS "No Node.js or no chart library: `parley report --html` will not work (tools/deps.sh page installs them)")
  file(CONFIGURE OUTPUT ${PARLEY_PAGE}/page_bundle.c
       CONTENT "#include \"trace/page.h\"\n\nconst unsigned char pl_page_bundle[] = {0};\nconst size_t pl_page_bundle_bytes = 0;\n")
endif()
