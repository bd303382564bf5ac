-- Changes, each another one: wrk -s write.lua URL -- KIND FIRST PREFIX EXPIRY
-- The ids that are changed or removed begin with FIRST; the addresses that are added with PREFIX.
local path = "/v0/contract/ip-authlist"
local kind, first, prefix, expiry, count = "create", 1, "1", 0, 0
function init(args)
  kind, first, prefix, expiry = args[1], tonumber(args[2]), args[3], tonumber(args[4])
  wrk.headers["Content-Type"] = "application/json"
end
function request()
  count = count + 1
  if kind == "remove" then return wrk.format("DELETE", path .. "/" .. first + count) end
  if kind == "change" then
    local body = '{"expiry":' .. expiry + count .. '}'
    return wrk.format("PATCH", path .. "/" .. first + count % 20, nil, body)
  end
  local ip = string.format("2001:db8:%s:%x:%x::1", prefix, math.floor(count / 65536), count % 65536)
  if kind == "override" then
    local name = string.format("h%d.p%s.example", count, prefix)
    local body = '{"server":"fra1","hostname":"' .. name .. '","ip":"198.51.100.7","expiry":' .. expiry .. '}'
    return wrk.format("POST", "/v0/contract/overrides", nil, body)
  end
  return wrk.format("POST", path, nil, '{"ip":"' .. ip .. '","user":"alice","expiry":' .. expiry .. '}')
end
