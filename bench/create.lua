-- POSTs authlist entries with addresses that are used once: wrk -s create.lua URL -- PREFIX EXPIRY
local prefix, expiry, count = "1", "0", 0
function init(args)
  prefix, expiry = args[1], args[2]
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end
function request()
  count = count + 1
  local ip = string.format("2001:db8:%s:%x:%x::1", prefix, math.floor(count / 65536), count % 65536)
  return wrk.format(nil, nil, nil, '{"ip":"' .. ip .. '","user":"alice","expiry":' .. expiry .. '}')
end
