/**
 * What was used of budgets over all nodes, in Redis: a hash of node → amount for each counter, with what resets took away, and
 * the field `born`, which a flushed Redis has lost. Amounts come as texts: JSON of Redis has 14 digits.
 */
const common = `
local function usedOf(key)
  local all = redis.call('HGETALL', key)
  local sum, born = 0, false
  for i = 1, #all, 2 do
    if all[i] == 'born' then born = all[i + 1] else sum = sum + tonumber(all[i + 1]) end
  end
  return sum, born
end
local function exact(amount) return string.format('%.0f', amount) end
`;

/**
 * Takes all or nothing. KEYS: the counters. ARGV[1]: JSON `{ node, parts, wanted: [{ limit, needed, amount, ahead, shadow, born,
 * keepMs }] }`. Answers JSON: `{ grants: [[taken, extra, isWithin, used]] }`, `{ refused, used }`, or `{ unknown: [index] }`
 * where Redis does not have what this node has used.
 */
export const takeBudgetScript = `${common}
local asked = cjson.decode(ARGV[1])
local sums, unknown = {}, {}
for i, one in ipairs(asked.wanted) do
  local sum, born = usedOf(KEYS[i])
  if born == false or born ~= one.born then unknown[#unknown + 1] = i - 1 end
  sums[i] = sum
end
if #unknown > 0 then return cjson.encode({ unknown = unknown }) end
for i, one in ipairs(asked.wanted) do
  if one.limit - sums[i] < one.needed and not one.shadow then
    return cjson.encode({ refused = i - 1, used = exact(sums[i]) })
  end
end
local grants = {}
for i, one in ipairs(asked.wanted) do
  local room = one.limit - sums[i]
  local isWithin = room >= one.needed
  local taken, extra = one.amount, 0
  if isWithin then
    taken = math.min(one.amount, room)
    extra = math.max(0, math.min(one.ahead, math.floor((room - taken) / asked.parts)))
  end
  redis.call('HINCRBY', KEYS[i], asked.node, exact(taken + extra))
  redis.call('PEXPIRE', KEYS[i], exact(one.keepMs))
  grants[i] = { exact(taken), exact(extra), isWithin, exact(sums[i] + taken + extra) }
end
return cjson.encode({ grants = grants })`;

/**
 * Writes what a node has used, and of the others what the ledger has, unless they have written it themselves. KEYS[1]: the
 * counter. ARGV: the node, its amount, JSON node → amount of the others, milliseconds to keep. Answers `[born, is it new?]`.
 */
export const openBudgetScript = `
local born = redis.call('HGET', KEYS[1], 'born')
local isNew = 0
if born == false then
  local time = redis.call('TIME')
  born = time[1] .. '.' .. time[2]
  redis.call('HSET', KEYS[1], 'born', born)
  isNew = 1
end
for node, amount in pairs(cjson.decode(ARGV[3])) do redis.call('HSETNX', KEYS[1], node, amount) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { born, isNew }`;

/** Adds to what a node has used. KEYS[1]: the counter. ARGV: the node, the amount, `born`. */
export const addBudgetScript = `
if redis.call('HGET', KEYS[1], 'born') ~= ARGV[3] then return 0 end
return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])`;

/** What resets took away, where the counter is there. KEYS[1]: the counter. ARGV: its field, the amount. */
export const resetBudgetScript = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`;
