-- A new connection for each request, through a proxy or without: wrk -s connection.lua URL -- TARGET HOST
local text
function init(args)
  text = "GET " .. args[1] .. " HTTP/1.1\r\nHost: " .. args[2] .. "\r\nConnection: close\r\n\r\n"
end
function request()
  return text
end
