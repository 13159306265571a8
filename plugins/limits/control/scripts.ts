/**
 * What windows and requests under way have taken over all nodes, in Redis. A window is a hash of `<slot>:<node>` → count,
 * with the field `born`, which a flushed Redis has lost; requests under way are a hash of node → count, with `<node>:at`, when the
 * node last wrote it. Redis's clock decides.
 */
const common = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function windowOf(key, slotMs, slots)
  local current = math.floor(now / slotMs)
  local all = redis.call('HGETALL', key)
  local sum, kept = 0, {}
  for i = 1, #all, 2 do
    local slot = tonumber(string.match(all[i], '^(%d+):'))
    if slot ~= nil then
      if slot < current - slots then redis.call('HDEL', key, all[i])
      else
        sum = sum + tonumber(all[i + 1])
        kept[#kept + 1] = { slot, tonumber(all[i + 1]) }
      end
    end
  end
  return current, sum, kept
end
local function underWay(key, aliveMs)
  local all = redis.call('HGETALL', key)
  local counts, times = {}, {}
  for i = 1, #all, 2 do
    local node = string.match(all[i], '^(.*):at$')
    if node then times[node] = tonumber(all[i + 1]) else counts[all[i]] = tonumber(all[i + 1]) end
  end
  local sum = 0
  for node, count in pairs(counts) do
    if times[node] and now - times[node] < aliveMs then sum = sum + count
    else redis.call('HDEL', key, node, node .. ':at') end
  end
  return sum
end
`;

/**
 * Takes all or nothing. KEYS: the counters. ARGV[1]: JSON `{ node, slots, aliveMs, parts, wanted: [{ windowMs, value, needed,
 * amount, ahead, shadow, born }] }`. Answers JSON: `{ grants }`, `{ refused, remaining, waitMs }`, or `{ unknown: [index] }`
 * where this node has to write first what it has taken, since Redis has lost it.
 */
export const takeScript = `${common}
local asked = cjson.decode(ARGV[1])
local states, unknown = {}, {}
local refused, remaining, waitMs = nil, 0, 0
for i, one in ipairs(asked.wanted) do
  local state = {}
  if one.windowMs == cjson.null then
    state.sum = underWay(KEYS[i], asked.aliveMs)
  else
    local born = redis.call('HGET', KEYS[i], 'born')
    if born == false then
      born = tostring(now)
      redis.call('HSET', KEYS[i], 'born', born)
      redis.call('PEXPIRE', KEYS[i], one.windowMs * 2)
    end
    state.born = born
    if one.born ~= born and one.hasTaken then unknown[#unknown + 1] = i - 1 end
    state.slotMs = one.windowMs / asked.slots
    state.current, state.sum, state.kept = windowOf(KEYS[i], state.slotMs, asked.slots)
  end
  states[i] = state
end
if #unknown > 0 then return cjson.encode({ unknown = unknown }) end
for i, one in ipairs(asked.wanted) do
  local state = states[i]
  local room = one.value - state.sum
  if room < one.needed and not one.shadow then
    local wait = -1
    if one.needed <= one.value and one.windowMs ~= cjson.null then
      table.sort(state.kept, function(a, b) return a[1] < b[1] end)
      local over = one.needed - room
      wait = 1
      for _, pair in ipairs(state.kept) do
        over = over - pair[2]
        if over <= 0 then
          wait = math.max(1, (pair[1] + asked.slots + 1) * state.slotMs - now)
          break
        end
      end
    elseif one.windowMs == cjson.null then wait = 1 end
    if refused == nil or wait == -1 or (waitMs ~= -1 and wait > waitMs) then
      refused, remaining, waitMs = i - 1, math.max(0, room), wait
    end
  end
end
if refused ~= nil then return cjson.encode({ refused = refused, remaining = remaining, waitMs = waitMs }) end
local grants = {}
for i, one in ipairs(asked.wanted) do
  local state = states[i]
  local room = one.value - state.sum
  local taken = one.amount
  if one.needed < one.amount and room > 0 then taken = math.min(one.amount, room) end
  local isWithin = room >= one.needed
  if one.windowMs == cjson.null then
    redis.call('HINCRBY', KEYS[i], asked.node, taken)
    redis.call('HSET', KEYS[i], asked.node .. ':at', now)
    redis.call('PEXPIRE', KEYS[i], asked.aliveMs)
    grants[i] = { taken = taken, extra = 0, slot = 0, validMs = -1, isWithin = isWithin, born = '', sum = 0 }
  else
    local extra = 0
    if isWithin then
      extra = math.max(0, math.min(one.ahead, math.floor((room - taken) / asked.parts)))
    end
    redis.call('HINCRBY', KEYS[i], string.format('%.0f:', state.current) .. asked.node, taken + extra)
    redis.call('PEXPIRE', KEYS[i], math.floor(one.windowMs * 2))
    grants[i] = {
      taken = taken, extra = extra, slot = state.current,
      validMs = (state.current + 1) * state.slotMs - now, isWithin = isWithin, born = state.born,
      sum = state.sum + taken + extra
    }
  end
end
return cjson.encode({ grants = grants })`;

/**
 * Counts what was used beyond, and takes off what was not used. KEYS[1]: the counter. ARGV: the node, the length of the
 * window or '', the slot, and the amount that was not used (below 0: used beyond).
 */
export const backScript = `${common}
local node, windowMs, slot, amount = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if windowMs == nil then
  if redis.call('HINCRBY', KEYS[1], node, -amount) <= 0 then redis.call('HDEL', KEYS[1], node, node .. ':at') end
  return 0
end
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if amount < 0 then
  local current = math.floor(now / (windowMs / tonumber(ARGV[5])))
  redis.call('HINCRBY', KEYS[1], string.format('%.0f:', current) .. node, -amount)
  return 0
end
local field = slot .. ':' .. node
local left = redis.call('HGET', KEYS[1], field)
if left then redis.call('HSET', KEYS[1], field, math.max(0, tonumber(left) - amount)) end
return 0`;

/** What all nodes have taken. KEYS[1]: the counter. ARGV: the length of the window or '', parts of a window, milliseconds. */
export const lookScript = `${common}
local windowMs = tonumber(ARGV[1])
if windowMs == nil then return underWay(KEYS[1], tonumber(ARGV[3])) end
local _, sum = windowOf(KEYS[1], windowMs / tonumber(ARGV[2]), tonumber(ARGV[2]))
return sum`;

/**
 * Writes what this node has counted, and answers which Redis has it. Where Redis has more, an answer of it is on its way or was
 * lost: that stays. KEYS[1]: the counter. ARGV: the node, the length of the window, JSON `[[slot, count]]`.
 */
export const writeScript = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSETNX', KEYS[1], 'born', tostring(now))
for _, pair in ipairs(cjson.decode(ARGV[3])) do
  local field = string.format('%.0f:', pair[1]) .. ARGV[1]
  local had = tonumber(redis.call('HGET', KEYS[1], field) or '0')
  if pair[2] > had then redis.call('HSET', KEYS[1], field, pair[2]) end
end
redis.call('PEXPIRE', KEYS[1], math.floor(tonumber(ARGV[2]) * 2))
return redis.call('HGET', KEYS[1], 'born')`;

/**
 * Keeps the requests that a node has under way alive. KEYS[1]: the counter. ARGV: the node, its count, milliseconds, and 1 where
 * questions are under way, which Redis may have counted already: then its own count stays.
 */
export const aliveScript = `
local time = redis.call('TIME')
if ARGV[4] == '1' then redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
redis.call('HSET', KEYS[1], ARGV[1] .. ':at', tonumber(time[1]) * 1000)
if ARGV[2] == '0' and ARGV[4] ~= '1' then redis.call('HDEL', KEYS[1], ARGV[1], ARGV[1] .. ':at') end
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`;

/** How many nodes there are, and 1 where this one was not among them. KEYS[1]: a sorted set of them. ARGV: this node, milliseconds that a node is remembered. */
export const nodesScript = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000
local isNew = redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
return { redis.call('ZCARD', KEYS[1]), isNew }`;
