# SPDX-License-Identifier: BSD-2-Clause
# Kinds of locks: the scripts by hand, then each kind by itself.

foreach(name IN ITEMS acquire_script take_script queue_script hold_script planted_numbers)
    redlock_test(${name} ${name}.c LABELS servers WITH script_calls.c)
endforeach()

redlock_test(reentrant reentrant.c LABELS servers threads WITH reentrant_load.c kinds_load.c)
redlock_test(semaphore semaphore.c LABELS servers threads WITH kinds_load.c semaphore_load.c)
redlock_test(shared shared.c LABELS servers threads WITH kinds_load.c shared_load.c)
redlock_test(several several.c LABELS servers threads WITH kinds_load.c)
redlock_test(kinds_life kinds_life.c LABELS servers threads)
redlock_test(kinds_wait kinds_wait.c LABELS servers threads)
redlock_test(kinds_guard kinds_guard.c LABELS servers threads)

# ---- with a rule broken ---------------------------------------------------------------------

# Everything that embeds a script is compiled once more with the broken ones.
file(GLOB broken_originals CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/scripts/*.lua")
function(redlock_broken_test rule)
    set(dir "${CMAKE_CURRENT_BINARY_DIR}/broken/${rule}")
    set(broken "${CMAKE_CURRENT_SOURCE_DIR}/broken")
    add_custom_command(
        OUTPUT "${dir}/rl_scripts.h"
        COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}/src/scripts"
            "-DTARGET_DIR=${dir}/scripts" "-DRULE=${broken}/${rule}.cmake"
            -P "${PROJECT_SOURCE_DIR}/cmake/BreakScripts.cmake"
        COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${dir}/scripts" "-DOUTPUT=${dir}/rl_scripts.h"
            -P "${PROJECT_SOURCE_DIR}/cmake/EmbedScripts.cmake"
        DEPENDS ${broken_originals} "${broken}/${rule}.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/BreakScripts.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/EmbedScripts.cmake"
        COMMENT "Breaking a rule: ${rule}"
        VERBATIM)
    add_executable(test_broken_${rule} kinds_broken.c kinds_load.c reentrant_load.c
        semaphore_load.c shared_load.c "${dir}/rl_scripts.h"
        "${PROJECT_SOURCE_DIR}/src/core/recipe.c" "${PROJECT_SOURCE_DIR}/src/wire/greeting.c"
        "${PROJECT_SOURCE_DIR}/src/wire/vetting.c")
    target_include_directories(test_broken_${rule} BEFORE PRIVATE "${dir}")
    target_compile_definitions(test_broken_${rule} PRIVATE "BROKEN_RULE=\"${rule}\"")
    target_link_libraries(test_broken_${rule} PRIVATE redlock_test_support redlock_internal)
    add_test(NAME kinds_broken.${rule} COMMAND test_broken_${rule} ${rule})
    redlock_test_properties(kinds_broken.${rule} servers)
endfunction()

foreach(rule IN ITEMS counter per_node no_intent partial)
    redlock_broken_test(${rule})
endforeach()

# ---- more of everything ---------------------------------------------------------------------

if(REDLOCK_SLOW_TESTS)
    foreach(case IN ITEMS never_above_1 never_above_2 never_above_3 never_above_7)
        redlock_slow_test(semaphore ${case} REDLOCK_STRESS_MS=60000)
    endforeach()
    redlock_slow_test(shared never_with_a_writer REDLOCK_STRESS_MS=120000)
    redlock_slow_test(several no_deadlock REDLOCK_STRESS_MS=60000)
    redlock_slow_test(several under_faults REDLOCK_STRESS_MS=120000)
    redlock_slow_test(reentrant tokens_under_faults REDLOCK_STRESS_MS=120000)
    redlock_slow_test(reentrant lost_answers_one_client REDLOCK_STRESS_ITERATIONS=5000)
    redlock_slow_test(reentrant lost_answers_processes REDLOCK_STRESS_ITERATIONS=3000)
endif()
