-- GETs as clients send them, of many accounts and URLs: wrk -s mix.lua URL -- AUTHORIZATION …
local tokens = {}
-- Out of ten requests: the list, one entry, the contract, its servers, the users.
local paths = {
  "/v0/contract/ip-authlist", "/v0/contract/ip-authlist", "/v0/contract/ip-authlist", "/v0/contract/ip-authlist",
  "/v0/contract/ip-authlist/1", "/v0/contract/ip-authlist/2",
  "/v0/contract", "/v0/contract/servers", "/v0/contract/servers?detail=usage", "/v0/users",
}
function init(args)
  math.randomseed(1)
  for _, token in ipairs(args) do tokens[#tokens + 1] = "Basic " .. token end
end
function request()
  local headers = { Authorization = tokens[math.random(#tokens)] }
  return wrk.format("GET", paths[math.random(#paths)], headers)
end
