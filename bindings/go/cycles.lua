-- SPDX-License-Identifier: BSD-2-Clause
-- For wrk -t1 -c64: PUT of 64 locks, then DELETE of each, again and again: what the client for Go sends. A DELETE
-- goes out 64 requests after its PUT, when no more than 63 others can be under way. Authorization is $TOKEN.
local count, start = 0, os.time()
local both = "Host: localhost\r\nAuthorization: Bearer " .. os.getenv("TOKEN") .. "\r\nLease-Id: "
local body = '{"ttl_ms":30000,"wait_ms":0}'
local tail = "\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body

function request()
    local round, who = math.floor(count / 128), count % 64
    local id = string.format("lease-%010d-%012d-%02d", start, round, who)
    local isPut = count % 128 < 64
    count = count + 1
    return (isPut and "PUT" or "DELETE") .. " /v1/locks/wrk/" .. who .. " HTTP/1.1\r\n" .. both .. id ..
        (isPut and tail or "\r\n\r\n")
end
