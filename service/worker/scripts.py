"""The queue's steps in Redis, each atomic and on Redis's own clock, so that hosts need not agree on the time."""

GROUP = "workers"

SUBMIT = """
-- KEYS: request stream, workers. ARGV: version, budget ms, longest age of a heartbeat ms, id, reply channel, query.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local budget = tonumber(ARGV[2])
local living, able, single, full, most, wait = 0, 0, 0, 0, 0, 0
local beats = redis.call('HGETALL', KEYS[2])
for i = 2, #beats, 2 do
  local worker = cjson.decode(beats[i])
  if now - worker.at <= tonumber(ARGV[3]) then
    living = living + 1
    for _, version in ipairs(worker.versions) do
      if version == ARGV[1] then
        able = able + 1
        single, full = single + worker.single_ms, full + worker.full_ms
        most, wait = most + worker.max_batch, wait + worker.max_wait_ms
      end
    end
  end
end
if living == 0 then return {'worker', 0} end
if able == 0 then return {'bundle', 0} end
single, full, most, wait = single / able, full / able, most / able, wait / able
local load = math.ceil((redis.call('XLEN', KEYS[1]) + 1) / able)
local before = math.floor((load - 1) / most)
local last = load - before * most
local slope = most > 1 and (full - single) / (most - 1) or 0
local finish = 1.1 * (before * full + single + slope * (last - 1)) + wait
if finish > budget then return {'full', math.ceil(finish)} end
local entry = redis.call('XADD', KEYS[1], '*', 'id', ARGV[4], 'channel', ARGV[5], 'deadline',
  string.format('%.3f', time[1] * 1000 + time[2] / 1000 + budget), 'query', ARGV[6])
return {'ok', entry}
"""
"""Admission by predicted finish: refuse at once what would come too late, else enqueue under an absolute deadline."""

CANCEL = """
-- KEYS: request stream. ARGV: group, entry.
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
return redis.call('XDEL', KEYS[1], ARGV[2])
"""

BEGIN = """
-- KEYS: request stream. ARGV: group, then entry and deadline by turns.
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local alive = {string.format('%.3f', now)}
for i = 2, #ARGV, 2 do
  local entry = ARGV[i]
  if #redis.call('XRANGE', KEYS[1], entry, entry) == 0 then
    redis.call('XACK', KEYS[1], ARGV[1], entry)
    alive[#alive + 1] = 'cancelled'
  elseif tonumber(ARGV[i + 1]) <= now then
    redis.call('XACK', KEYS[1], ARGV[1], entry)
    redis.call('XDEL', KEYS[1], entry)
    alive[#alive + 1] = 'expired'
  else
    alive[#alive + 1] = 'alive'
  end
end
return alive
"""
"""The last look before a batch: who still waits for an answer. Returns the time, then a word for each entry."""

CLAIM = """
-- KEYS: request stream. ARGV: group, own name, idle ms, most.
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local claimed = {}
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', ARGV[4])) do
  local entry, deliveries = pending[1], tonumber(pending[4])
  local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  local deadline = 0
  if found then
    for i = 1, #found[2], 2 do
      if found[2][i] == 'deadline' then deadline = tonumber(found[2][i + 1]) end
    end
  end
  if deadline <= now or deliveries > 1 then
    redis.call('XACK', KEYS[1], ARGV[1], entry)
    redis.call('XDEL', KEYS[1], entry)
  else
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], entry)
    claimed[#claimed + 1] = found
  end
end
return claimed
"""
"""Take over what a dead worker left, once and only while somebody still waits for it; drop the rest."""

BEAT = """
-- KEYS: workers. ARGV: name, heartbeat without its time, ms after which a silent worker is forgotten.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local beat = cjson.decode(ARGV[2])
beat.at = now
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(beat))
local all = redis.call('HGETALL', KEYS[1])
for i = 2, #all, 2 do
  if now - cjson.decode(all[i]).at > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[i - 1]) end
end
return now
"""
