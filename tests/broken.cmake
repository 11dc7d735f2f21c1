# SPDX-License-Identifier: BSD-2-Clause
# Libraries with one rule broken. Each is made of the real sources with a few words replaced, and
# runs the load of the real tests, which must see that something is wrong: a test that no broken
# library fails proves nothing about the real one.
#
# redlock_broken_test(RULE FILE WORDS OTHER_WORDS [FILE WORDS OTHER_WORDS]...)
#
# FILE is below src: C, or a script of the servers. WORDS must be there. The case RULE of
# broken.c expects the violation.

add_library(redlock_test_broken OBJECT broken.c)
target_link_libraries(redlock_test_broken PRIVATE redlock_test_support)

function(redlock_break_words file from to out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    if(EXISTS "${out}.new")
        set(file "${out}.new") # broken in another place already
    endif()
    file(READ "${file}" text)
    string(FIND "${text}" "${from}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "${file} does not say any more: ${from}")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
    file(WRITE "${out}.new" "${text}")
endfunction()

# What did not change keeps its age, and is not compiled again.
function(redlock_settle out)
    configure_file("${out}.new" "${out}" COPYONLY)
    file(REMOVE "${out}.new")
endfunction()

function(redlock_embed_broken_scripts rule dir)
    file(GLOB originals RELATIVE "${PROJECT_SOURCE_DIR}/src/scripts" CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/scripts/*.lua")
    set(scripts "")
    foreach(script IN LISTS originals)
        if(NOT "${script}" IN_LIST broken_scripts)
            configure_file("${PROJECT_SOURCE_DIR}/src/scripts/${script}" "${dir}/scripts/${script}"
                COPYONLY)
        endif()
        list(APPEND scripts "${dir}/scripts/${script}")
    endforeach()
    add_custom_command(OUTPUT "${dir}/rl_scripts.h"
        COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${dir}/scripts" "-DOUTPUT=${dir}/rl_scripts.h"
            -P "${PROJECT_SOURCE_DIR}/cmake/EmbedScripts.cmake"
        DEPENDS ${scripts} "${PROJECT_SOURCE_DIR}/cmake/EmbedScripts.cmake" VERBATIM)
    # Everything that knows the scripts, with the broken ones.
    target_sources(test_broken_${rule} PRIVATE "${dir}/rl_scripts.h")
    foreach(user IN ITEMS protocol/command.c protocol/greeting.c protocol/vetting.c)
        target_sources(test_broken_${rule} PRIVATE "${PROJECT_SOURCE_DIR}/src/${user}")
    endforeach()
    target_include_directories(test_broken_${rule} BEFORE PRIVATE "${dir}")
endfunction()

function(redlock_broken_test rule)
    set(dir "${CMAKE_CURRENT_BINARY_DIR}/broken/${rule}")
    set(broken "")
    set(broken_scripts "")
    add_executable(test_broken_${rule} $<TARGET_OBJECTS:redlock_test_broken>)
    target_link_libraries(test_broken_${rule} PRIVATE redlock_test_support redlock_internal)
    foreach(first RANGE 1 ${ARGC} 3)
        if(first GREATER_EQUAL ARGC)
            break()
        endif()
        math(EXPR from "${first} + 1")
        math(EXPR to "${first} + 2")
        redlock_break_words("${PROJECT_SOURCE_DIR}/src/${ARGV${first}}" "${ARGV${from}}"
            "${ARGV${to}}" "${dir}/${ARGV${first}}")
        list(APPEND broken "${ARGV${first}}")
    endforeach()
    list(REMOVE_DUPLICATES broken)
    foreach(file IN LISTS broken)
        redlock_settle("${dir}/${file}")
        if(file MATCHES "\\.lua$")
            get_filename_component(script_name "${file}" NAME)
            list(APPEND broken_scripts "${script_name}")
        else()
            target_sources(test_broken_${rule} PRIVATE "${dir}/${file}")
        endif()
    endforeach()
    if(broken_scripts)
        redlock_embed_broken_scripts(${rule} "${dir}")
    endif()
    # What is broken leaves things unused.
    target_compile_options(test_broken_${rule} PRIVATE -Wno-unused)
    redlock_add_test(NAME broken.${rule} COMMAND test_broken_${rule} ${rule})
    redlock_test_properties(broken.${rule} servers)
endfunction()

# A node grants to anybody in the queue, not to its head alone.
redlock_broken_test(head_rule scripts/take.lua "blocked = true" "blocked = false")

# Nobody takes a dead waiter out of the queue.
redlock_broken_test(liveness scripts/take.lua
    [[call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)]] [[{}]])

# No timer from the remaining time of the key: only messages, and the signs of life.
redlock_broken_test(expiry_timer core/queue.c
    [[return now_ns + sorted[lock->policy->quorum - 1] * RL_NS_PER_MS + EXPIRY_LAG_NS;]]
    [[return RL_NEVER_NS;]])

# Who has lost the majority keeps its place.
redlock_broken_test(minority_leaves core/acquire.c
    [[if (acquisition->attempt_error != REDLOCK_BUSY && acquisition->ticket) {]]
    [[if (acquisition->attempt_error != REDLOCK_BUSY && acquisition->ticket && false) {]])

# A failed attempt keeps what it got.
redlock_broken_test(rollback core/acquire.c
    [[rl_send(out, RL_OP_ROLLBACK, nodes, lock->round);]] [[(void)nodes;]])

# A release tells nobody.
redlock_broken_test(wake
    scripts/release.lua [[('PUBLISH', 'redlock.wake:']] [[('EXISTS', 'redlock.wake:']]
    scripts/giveback.lua [[('PUBLISH', 'redlock.wake:']] [[('EXISTS', 'redlock.wake:']])

# Whoever goes stays in the queue.
redlock_broken_test(leaving core/acquire.c
    [[rl_send(out, RL_OP_LEAVE, rl_all_nodes(lock), lock->round);]] [[(void)out;]])

# Every waiter of a client is sent to the nodes.
redlock_broken_test(one_place engine/local_queue.c
    [[is_private ? NULL : find(queues, hash, key);]] [[NULL;]])

# Who has just released may ask again at once, past those who wait.
redlock_broken_test(courtesy engine/local_queue.c
    [[engine->yield[hash % RL_YIELDS] = (struct rl_yield){hash, now_ns + YIELD_NS};]]
    [[(void)hash;]])

# Who listens too late is not told to look once, nor does who collided look soon by itself.
redlock_broken_test(late_ears
    engine/subscriber.c
    [[rl_local_queues_wake(engine, node, engine->subscriber_count == engine->policy.quorum,
                         now_ns);]]
    [[(void)now_ns;]]
    core/queue.c [[if (lock->tally.yes_count > 0)
        free_ns =]] [[if (lock->tally.yes_count > 0 && acquisition->ahead_ms == 0)
        free_ns =]])
