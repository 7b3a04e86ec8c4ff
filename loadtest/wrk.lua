-- Sends the bodies of a file, one a line, in turn. Usage: wrk ... -s wrk.lua URL -- FILE
local requests = {}
local turn = 0

function init(args)
  for line in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, line)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end
