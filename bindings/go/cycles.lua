-- SPDX-License-Identifier: BSD-2-Clause
-- For wrk -t1 -c64: PUT of 64 locks, then DELETE of each with its grant, again and again: what the client for Go sends. A
-- DELETE goes out 64 requests after its PUT, when no more than 63 others can be under way. $TOKEN is the bearer token.
local count, start, grants = 0, os.time(), {}
local both = "Host: localhost\r\nAuthorization: Bearer " .. os.getenv("TOKEN") .. "\r\nLease-Id: "
local body = '{"ttl_ms":30000,"wait_ms":0}'
local tail = "\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body

function request()
    local round, who, is_put = math.floor(count / 128), count % 64, count % 128 < 64
    local id = string.format("lease-%010d-%012d-%02d", start, round, who)
    count = count + 1
    return (is_put and "PUT" or "DELETE") .. " /v1/locks/wrk/" .. who .. " HTTP/1.1\r\n" .. both .. id ..
        (is_put and tail or "\r\nGrant: " .. (grants[who] or "none") .. "\r\n\r\n")
end

function response(_, _, text)
    local who, grant = text:match('"name":"wrk/(%d+)".-"grant":"([^"]+)"')
    if grant then
        grants[tonumber(who)] = grant
    end
end
