-- Sends the bodies of a file, one a line, in turn. Usage: wrk ... -s wrk.lua URL -- FILE [MEAN_PAUSE_MS]
local requests = {}
local turn = 0
local pause = 0

function init(args)
  for line in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, line)
  end
  pause = tonumber(args[2] or "0")
  if pause == 0 then
    delay = nil
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

-- A Poisson-like stream: exponential pauses, in milliseconds.
function delay()
  return math.floor(-pause * math.log(1 - math.random()) + 0.5)
end
