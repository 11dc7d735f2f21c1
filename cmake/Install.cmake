# SPDX-License-Identifier: BSD-2-Clause
include(CMakePackageConfigHelpers)

install(FILES "${PROJECT_SOURCE_DIR}/include/redlock.h" TYPE INCLUDE)

# Two export sets: a program that links the shared library does not need OpenSSL's files.
install(TARGETS redlock_shared EXPORT redlockSharedTargets)
install(TARGETS redlock_static EXPORT redlockStaticTargets)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/redlock")
foreach(kind IN ITEMS Shared Static)
    install(EXPORT redlock${kind}Targets NAMESPACE redlock:: DESTINATION "${package_dir}")
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/packaging/redlockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/redlockConfig.cmake" INSTALL_DESTINATION "${package_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/redlockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/redlockConfig.cmake"
    "${PROJECT_BINARY_DIR}/redlockConfigVersion.cmake" DESTINATION "${package_dir}")

configure_file("${PROJECT_SOURCE_DIR}/packaging/redlock.pc.in"
    "${PROJECT_BINARY_DIR}/redlock.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/redlock.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.[1-9]")

# libredlock(3) gets its reference from the header.
set(library_page "${PROJECT_BINARY_DIR}/man3/libredlock.3")
set(library_page_sources "${PROJECT_SOURCE_DIR}/cmake/manual.awk"
    "${PROJECT_SOURCE_DIR}/include/redlock.h" "${PROJECT_SOURCE_DIR}/man/libredlock.3")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library_page_sources})
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/man3")
execute_process(COMMAND awk -f ${library_page_sources} OUTPUT_FILE "${library_page}"
    COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM pages REPLACE ".*/libredlock\\.3$" "${library_page}")

foreach(page IN LISTS pages)
    get_filename_component(section "${page}" LAST_EXT)
    string(SUBSTRING "${section}" 1 -1 section)
    install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
endforeach()

# `man redlock_acquire` shows libredlock(3): a page for each function, as the header declares them.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/redlock.h" declarations REGEX "^REDLOCK_API ")
set(links)
foreach(declaration IN LISTS declarations)
    if(NOT declaration MATCHES "(redlock_[a-z_]+)\\(")
        message(FATAL_ERROR "No function in: ${declaration}")
    endif()
    set(link "${PROJECT_BINARY_DIR}/man3/${CMAKE_MATCH_1}.3")
    file(CONFIGURE OUTPUT "${link}" CONTENT ".so man3/libredlock.3\n")
    list(APPEND links "${link}")
endforeach()
install(FILES ${links} DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")

install(TARGETS redlock)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/redlock.conf" DESTINATION "${CMAKE_INSTALL_DATADIR}/redlock")
# `systemctl start redlock@NAME`: redlock-jobs(7).
configure_file("${PROJECT_SOURCE_DIR}/packaging/redlock@.service.in"
    "${PROJECT_BINARY_DIR}/redlock@.service" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/redlock@.service"
    "${PROJECT_SOURCE_DIR}/packaging/redlock@.timer" DESTINATION lib/systemd/system)
if(TARGET redlockd)
    install(TARGETS redlockd)
    # An example: packages put it into /etc/redlock.
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/redlockd.conf"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/redlock")
    configure_file("${PROJECT_SOURCE_DIR}/packaging/redlockd.service.in"
        "${PROJECT_BINARY_DIR}/redlockd.service" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/redlockd.service"
        "${PROJECT_SOURCE_DIR}/packaging/redlockd.socket" DESTINATION lib/systemd/system)
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/redlockd.sysusers" DESTINATION lib/sysusers.d
        RENAME redlockd.conf)
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/redlockd"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/_redlockd"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/redlockd.fish"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
# What `make install` builds.
add_custom_target(redlock_installed)
add_dependencies(redlock_installed redlock redlock_shared redlock_static)
if(TARGET redlockd)
    add_dependencies(redlock_installed redlockd)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/redlock"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/_redlock"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/redlock.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

if(PROJECT_IS_TOP_LEVEL AND NOT REDLOCK_SANITIZE)
    redlock_add_test(NAME install.consumers SECONDS 120
        COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-install.sh" "${PROJECT_BINARY_DIR}")
    set_tests_properties(install.consumers PROPERTIES LABELS unit)
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT REDLOCK_SANITIZE)
    redlock_add_test(NAME man.names COMMAND "${PROJECT_SOURCE_DIR}/tests/tools/manual.sh"
        "${CMAKE_C_COMPILER}" "${PROJECT_SOURCE_DIR}/include/redlock.h" ${pages})
    set_tests_properties(man.names PROPERTIES LABELS unit)
endif()
find_program(MANDOC mandoc)
if(PROJECT_IS_TOP_LEVEL AND MANDOC)
    redlock_add_test(NAME man.lint COMMAND "${MANDOC}" -T lint -W warning ${pages})
    set_tests_properties(man.lint PROPERTIES LABELS unit)
endif()
