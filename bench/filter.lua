-- GETs with a filter that differs each time, so that no cached response serves: wrk -s filter.lua URL
local count = 0
function request()
  count = count + 1
  return wrk.format("GET", wrk.path .. "?ip=2001:db8:" .. string.format("%x", count % 1000000))
end
