-- SPDX-License-Identifier: BSD-2-Clause
-- For wrk -t1 -c64: PUT of a lock, and DELETE with its grant as soon as that has come, in the words of the client for Go.
-- A name comes again long after its DELETE was sent; those of an earlier run, whose last PUTs nothing deletes, never.
local NAMES = 512
local start, count, granted, lease = os.time(), 0, {}, {}
local put, delete = '{"ttl_ms":30000,"wait_ms":0}', ""

local function write(method, name, grant, body)
    return method .. " /v1/locks/" .. name .. " HTTP/1.1\r\nHost: localhost\r\nLease-Id: " .. lease[name] .. "\r\n" ..
        grant .. "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end

function request()
    local held = table.remove(granted, 1)
    if held then
        return write("DELETE", held.name, "Grant: " .. held.grant .. "\r\n", delete)
    end
    local name = "wrk/" .. start .. "/" .. count % NAMES
    lease[name] = string.format("lease-%010d-%016d", start, count)
    count = count + 1
    return write("PUT", name, "", put)
end

function response(_, _, text)
    local name, grant = text:match('"name":"([^"]+)".-"grant":"([^"]+)"')
    if grant then
        table.insert(granted, {name = name, grant = grant})
    end
end
