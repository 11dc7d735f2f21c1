/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/fake/lua.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 32
#define ERROR_SIZE 512
#define NESTING_MAX 8

/*
 * One interpreter for all servers of the process, made when the first script runs: scripts keep
 * nothing between calls, because they cannot write globals. What a call needs of C stands here,
 * where an error that unwinds the stack loses nothing.
 */
static struct {
    lua_State *state;
    int globals;                /* registry reference of the environment of every script */
    struct fake_server *server; /* that runs the script; NULL: none does */
    struct fake_bytes reply;    /* of the command that the script has called */
} lua;

/* The line that ends at the next CR. */
static size_t line_size(const char *at)
{
    return strcspn(at, "\r");
}

static void push_field(lua_State *state, const char *field, const char *at)
{
    lua_createtable(state, 0, 1);
    lua_pushlstring(state, at, line_size(at));
    lua_setfield(state, -2, field);
}

/* Pushes the reply that starts at `at`; returns where the next one does. */
static const char *push_reply(lua_State *state, const char *at)
{
    const char *next = at + line_size(at) + 2;
    long long number = strtoll(at + 1, NULL, 10);

    switch (*at) {
    case '+':
        push_field(state, "ok", at + 1);
        return next;
    case '-':
        push_field(state, "err", at + 1);
        return next;
    case ':':
        lua_pushnumber(state, (lua_Number)number);
        return next;
    case '$':
        if (number < 0) {
            lua_pushboolean(state, false);
            return next;
        }
        lua_pushlstring(state, next, (size_t)number);
        return next + number + 2;
    default:
        luaL_checkstack(state, 2, "replies within replies");
        lua_createtable(state, (int)number, 0);
        for (int i = 1; i <= number; i++) {
            next = push_reply(state, next);
            lua_rawseti(state, -2, i);
        }
        return next;
    }
}

/* A table with one field, as redis.error_reply and redis.status_reply return it. */
static int reply_table(lua_State *state, const char *field)
{
    luaL_checkstring(state, 1);
    lua_createtable(state, 0, 1);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, field);
    return 1;
}

static int error_reply(lua_State *state)
{
    return reply_table(state, "err");
}

static int status_reply(lua_State *state)
{
    return reply_table(state, "ok");
}

/* The arguments on the stack as words; numbers are written there as text. False:
 * it is neither. */
static bool read_words(lua_State *state, struct fake_words *words)
{
    int count = lua_gettop(state);

    if (count < 1 || count > FAKE_WORDS_MAX)
        return false;
    words->count = (uint32_t)count;
    for (int i = 1; i <= count; i++) {
        char number[NUMBER_SIZE];

        if (lua_type(state, i) == LUA_TNUMBER) {
            fake_write_double(number, sizeof number, lua_tonumber(state, i));
            lua_pushstring(state, number);
            lua_replace(state, i);
        } else if (lua_type(state, i) != LUA_TSTRING) {
            return false;
        }
        words->word[i - 1].data = lua_tolstring(state, i, &words->word[i - 1].size);
    }
    return true;
}

/* Pushes the reply of a command. */
static void call_command(lua_State *state)
{
    struct fake_words words;

    lua.reply.size = 0;
    if (read_words(state, &words))
        fake_server_execute(lua.server, &words, &lua.reply);
    else
        fake_reply_error(&lua.reply, "ERR command arguments must be strings or numbers");
    /* The end of the last line is looked for as text. */
    fake_bytes_add(&lua.reply, "", 1);
    push_reply(state, lua.reply.data);
}

static int redis_pcall(lua_State *state)
{
    call_command(state);
    return 1;
}

static int redis_call(lua_State *state)
{
    call_command(state);
    return lua.reply.data[0] == '-' ? lua_error(state) : 1;
}

/* Every user of a simulated server may run every command. */
static int acl_check_cmd(lua_State *state)
{
    lua_pushboolean(state, 1);
    return 1;
}

/* As long as the real one, and as good for telling apart what a world draws. */
void fake_digest(const char *text, size_t size, char out[FAKE_DIGEST_SIZE])
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
    snprintf(out, FAKE_DIGEST_SIZE, "%040" PRIx64, hash);
}

static int sha1hex(lua_State *state)
{
    size_t size;
    const char *text = luaL_checklstring(state, 1, &size);
    char digest[FAKE_DIGEST_SIZE];

    fake_digest(text, size, digest);
    lua_pushstring(state, digest);
    return 1;
}

static int refuse_global(lua_State *state)
{
    return luaL_error(state, "no global variable '%s' may be read or written",
                      lua_tostring(state, 2));
}

static void set_functions(lua_State *state)
{
    static const luaL_Reg redis[] = {
        {"call", redis_call},
        {"pcall", redis_pcall},
        {"error_reply", error_reply},
        {"status_reply", status_reply},
        {"acl_check_cmd", acl_check_cmd},
        {"sha1hex", sha1hex},
    };

    lua_newtable(state);
    for (size_t i = 0; i < sizeof redis / sizeof redis[0]; i++) {
        lua_pushcfunction(state, redis[i].func);
        lua_setfield(state, -2, redis[i].name);
    }
    lua_setfield(state, -2, "redis");
}

/* As servers have it: what is not there can neither be read nor made. */
static void seal(lua_State *state)
{
    lua_newtable(state);
    lua_pushcfunction(state, refuse_global);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, refuse_global);
    lua_setfield(state, -2, "__newindex");
    lua_setmetatable(state, -2);
}

/* No math.random: what a world does is drawn from its seed alone. */
static void remove_random(lua_State *state)
{
    lua_getglobal(state, "math");
    lua_pushnil(state);
    lua_setfield(state, -2, "random");
    lua_pushnil(state);
    lua_setfield(state, -2, "randomseed");
    lua_pop(state, 1);
}

static void open_library(lua_State *state, lua_CFunction open, const char *name)
{
    lua_pushcfunction(state, open);
    lua_pushstring(state, name);
    lua_call(state, 1, 0);
}

static void start(void)
{
    static const char *const known[] = {"ipairs", "math",   "next",  "pairs",    "pcall",
                                        "select", "string", "table", "tonumber", "tostring",
                                        "type",   "unpack", NULL};
    lua_State *state = luaL_newstate();

    if (!state)
        abort();
    open_library(state, luaopen_base, "");
    open_library(state, luaopen_math, LUA_MATHLIBNAME);
    open_library(state, luaopen_string, LUA_STRLIBNAME);
    open_library(state, luaopen_table, LUA_TABLIBNAME);
    remove_random(state);
    lua_newtable(state);
    for (const char *const *name = known; *name; name++) {
        lua_getglobal(state, *name);
        lua_setfield(state, -2, *name);
    }
    set_functions(state);
    seal(state);
    lua.globals = luaL_ref(state, LUA_REGISTRYINDEX);
    lua.state = state;
}

static void reply_value(lua_State *state, int depth, struct fake_bytes *out);

/* True: the table on the stack has this field, of text, which is then on the stack. */
static bool has_text(lua_State *state, const char *field)
{
    lua_pushstring(state, field);
    lua_rawget(state, -2);
    if (lua_type(state, -1) == LUA_TSTRING)
        return true;
    lua_pop(state, 1);
    return false;
}

/* An array ends before its first nil. */
static void reply_array(lua_State *state, int depth, struct fake_bytes *out)
{
    uint32_t count = 0;

    for (bool more = true; more; count += more) {
        lua_rawgeti(state, -1, (int)count + 1);
        more = !lua_isnil(state, -1);
        lua_pop(state, 1);
    }
    fake_reply_array(out, count);
    for (uint32_t i = 1; i <= count; i++) {
        lua_rawgeti(state, -1, (int)i);
        reply_value(state, depth + 1, out);
    }
}

/* The value on top of the stack, which is taken away. */
static void reply_value(lua_State *state, int depth, struct fake_bytes *out)
{
    struct rl_slice text;

    switch (depth < NESTING_MAX ? lua_type(state, -1) : LUA_TNONE) {
    case LUA_TSTRING:
        text.data = lua_tolstring(state, -1, &text.size);
        fake_reply_bulk(out, text);
        break;
    case LUA_TNUMBER:
        fake_reply_integer(out, (int64_t)lua_tonumber(state, -1));
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(state, -1))
            fake_reply_integer(out, 1);
        else
            fake_reply_nil(out);
        break;
    case LUA_TTABLE:
        if (has_text(state, "err")) {
            fake_reply_error(out, lua_tostring(state, -1));
            lua_pop(state, 1);
        } else if (has_text(state, "ok")) {
            fake_reply_status(out, lua_tostring(state, -1));
            lua_pop(state, 1);
        } else {
            reply_array(state, depth, out);
        }
        break;
    default:
        fake_reply_nil(out);
    }
    lua_pop(state, 1);
}

/* What a script died of: the error of a command as it is, or one of the language. */
static void reply_failure(lua_State *state, struct fake_bytes *out)
{
    char text[ERROR_SIZE];

    if (lua_type(state, -1) == LUA_TTABLE) {
        reply_value(state, 0, out);
        return;
    }
    snprintf(text, sizeof text, "ERR script %s", lua_tostring(state, -1));
    lua_pop(state, 1);
    fake_reply_error(out, text);
}

/* Pushes the function that a text was compiled to. False: it has an error, which is pushed. */
static bool push_script(lua_State *state, const struct fake_lua_call *call)
{
    lua_pushlightuserdata(state, (void *)call->text);
    lua_rawget(state, LUA_REGISTRYINDEX);
    if (!lua_isnil(state, -1))
        return true;
    lua_pop(state, 1);
    if (luaL_loadbuffer(state, call->text, strlen(call->text), call->name) != 0)
        return false;
    lua_rawgeti(state, LUA_REGISTRYINDEX, lua.globals);
    lua_setfenv(state, -2);
    lua_pushlightuserdata(state, (void *)call->text);
    lua_pushvalue(state, -2);
    lua_rawset(state, LUA_REGISTRYINDEX);
    return true;
}

/* KEYS or ARGV. */
static void set_words(lua_State *state, const char *name, const struct rl_slice *word,
                      uint32_t count)
{
    lua_rawgeti(state, LUA_REGISTRYINDEX, lua.globals);
    lua_pushstring(state, name);
    lua_createtable(state, (int)count, 0);
    for (uint32_t i = 0; i < count; i++) {
        lua_pushlstring(state, word[i].data, word[i].size);
        lua_rawseti(state, -2, (int)i + 1);
    }
    lua_rawset(state, -3);
    lua_pop(state, 1);
}

void fake_lua_run(struct fake_server *server, const struct fake_lua_call *call,
                  struct fake_bytes *out)
{
    if (lua.server) {
        fake_reply_error(out, "ERR This command is not allowed from script");
        return;
    }
    if (!lua.state)
        start();
    set_words(lua.state, "KEYS", call->key, call->key_count);
    set_words(lua.state, "ARGV", call->arg, call->arg_count);
    lua.server = server;
    if (push_script(lua.state, call) && lua_pcall(lua.state, 0, 1, 0) == 0)
        reply_value(lua.state, 0, out);
    else
        reply_failure(lua.state, out);
    lua.server = NULL;
}
