-- Changes the states of marks (marks.go) and buckets: all of them, or none if a mark or a bucket
-- refuses. A bucket refuses if it has fewer free units than the call needs. local.go has the same
-- rules for buckets, in the same three steps: advance, refuse, change. TestSame compares both.
--
-- KEYS has the keys of marks, then of buckets, then of the index of each bucket: some servers
-- refuse keys that are not in KEYS (dragonflydb/dragonfly#272). The value of a bucket begins with
-- the used units, the time since which they refill, in microseconds since 1970 on the clock of this
-- server, and the limit in force. Then come the reserved units, each after the minute since 1970 at
-- whose end they count as used, and the name of the person:
--
--	1200.5 1795852800000000 1000000 29930880:20000 29930882:40000 =alice
--
-- Used units refill evenly. The used units may be below 0 if a call gives back units while they are
-- still reserved. A bucket without a key has no used units. The index of a quota of single people
-- is a sorted set of their IDs, by the time at which their buckets have refilled. Its key is that
-- of a bucket without the ID, such as day:. A quota of all people has no index: a key such as all:
-- is that of its bucket.
--
-- The value of the key of a mark is a state, and a minute since 1970. If the state is taken, the
-- reserved units of the call count as used at the end of this minute:
--
--	taken 29930880
--
-- ARGV has the number of marks, and how many minutes units are reserved from now on; then for each
-- mark:
--
--	then        the state that follows; empty to delete the key
--	keep        how long that state is kept, in milliseconds
--	needsTaken  1 if the mark refuses unless the key is taken; a refusal changes the state of the
--	            key all the same. Else 0
--
-- and then for each bucket:
--
--	period      time in which a limit refills, in microseconds
--	limit       units in a period
--	need        units that must be free, else nothing is changed; 0 if it does not matter
--	use         units that are used; negative if they are given back
--	reserve     units that are reserved for a call that runs; negative at its end. The end frees
--	            units of the minute that the taken key has, or none if no key has the state taken
--	name        of the person, or empty
--
-- It returns an array:
--
--	a mark refuses   -1
--	buckets refuse   the number of the bucket that refuses for the longest time, from 1 on; this
--	                 time in microseconds, or 0 if only calls that run are in the way; the used
--	                 units of this bucket
--	none refuses     0; for each bucket the used part of its limit, in thousandths
local maxUsed = 8 -- maxUsedPeriods in quotas.go
local day = 86400000000 -- microseconds

local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local minute = math.ceil(now / 60000000)

local marks = tonumber(ARGV[1])
local nBuckets = (#KEYS - marks) / 2
local values = {}
for i = 1, marks + nBuckets do
	values[i] = redis.pcall('GET', KEYS[i])
	if type(values[i]) == 'table' and not string.find(values[i].err, 'WRONGTYPE', 1, true) then
		return values[i]
	end
end

-- The minute at whose end reserved units count as used. At the end of a call it comes from the
-- taken key: keys in other states do not use theirs.
local untilMinute = minute + tonumber(ARGV[2])
local function changeState(i)
	local state, keep = ARGV[3 * i], ARGV[3 * i + 1]
	if state == '' then
		redis.call('DEL', KEYS[i])
	else
		redis.call('SET', KEYS[i], state .. string.format(' %.0f', untilMinute), 'PX', keep)
	end
end

-- The marks: refuse, if a key is settled, or is not taken although it must be.
local taken = false -- a key has the state taken
for i = 1, marks do
	local state, takenUntil = string.match(tostring(values[i]), '^(%l+) (%d+)$')
	local needsTaken = ARGV[3 * i + 2] == '1'
	if state == 'taken' then
		taken, untilMinute = true, tonumber(takenUntil)
	elseif needsTaken then -- settle the key: a start that comes later must not take the call
		changeState(i)
	end
	if state == 'settled' or needsTaken and state ~= 'taken' then
		return { -1 }
	end
end

local buckets, refused, wait, used = {}, 0, -1, 0
for i = 1, nBuckets do
	local b = { key = KEYS[marks + i], used = 0, reserved = {} }
	local first = 2 + 3 * marks + 6 * (i - 1) -- before its values
	for j, name in ipairs({ 'period', 'limit', 'need', 'use', 'reserve' }) do
		b[name] = tonumber(ARGV[first + j])
	end
	b.name = ARGV[first + 6]

	-- Advance the bucket to now (bucketState.advance).
	local stored, at, rest = string.match(tostring(values[marks + i]), '^(%S+) (%d+)([ %d:]*)')
	stored, at = tonumber(stored), tonumber(at) -- used units, and since when they refill
	local running, over = 0, 0
	-- Else the value is wrong: no number, NaN (which is not equal to itself), or a time far ahead.
	if stored ~= nil and stored == stored and at < now + b.period then
		for digits, units in string.gmatch(rest, ' (%d+):(%d+)') do
			local reservedUntil = tonumber(digits)
			local left = reservedUntil * 60000000 - now
			if left <= 0 then -- the process has ended before the end of its call
				over = over + tonumber(units)
			elseif left < 2 * day then -- else the clock was wrong
				b.reserved[reservedUntil] = tonumber(units)
				running = running + tonumber(units)
			end
		end
		local refilled = math.max(now - at, 0) * b.limit / b.period
		local least = math.max(math.min(stored + over, 0), 0 - running)
		b.used = math.min(math.max(stored + over - refilled, least), maxUsed * b.limit)
	end
	b.least = math.min(b.used, 0)
	if b.reserve == 0 then -- SettleResponse may give back units that another process still reserves
		b.least = 0 - running
	end

	-- Refuse, if too little is free (localBuckets.apply).
	local missing = b.used + b.need - b.limit
	local ownWait = math.max(math.ceil(missing * b.period / b.limit), 0)
	if b.need > 0 and missing + running > 0 and ownWait > wait then
		refused, wait, used = i, ownWait, b.used
	end
	buckets[i] = b
end
if refused > 0 then
	return { refused, wait, math.max(math.ceil(used), 0) }
end

local made = { 0 }
for i, b in ipairs(buckets) do -- change the buckets (bucketState.applyChange)
	if b.reserve < 0 and not taken then -- this server has lost the reservation
		b.reserve = 0
	elseif b.reserve < 0 and untilMinute * 60000000 <= now then -- these count as used already
		b.use = b.use + b.reserve
	end
	b.used = math.min(math.max(b.used + b.use, b.least), maxUsed * b.limit)
	b.reserved[untilMinute] = math.max((b.reserved[untilMinute] or 0) + b.reserve, 0)

	made[1 + i] = math.max(math.floor(b.used / b.limit * 1000), 0)

	local value = string.format('%.17g %.0f %.0f', b.used, now, b.limit)
	local units, unreservedIn = b.used, 0
	for reservedUntil, reserved in pairs(b.reserved) do
		if reserved > 0 then
			value = value .. string.format(' %.0f:%.0f', reservedUntil, reserved)
			units = units + reserved
			unreservedIn = math.max(unreservedIn, reservedUntil * 60000000 - now)
		end
	end
	if b.name ~= '' then
		value = value .. ' =' .. b.name
	end
	local refill = math.min(math.max(units, 0), maxUsed * b.limit) * b.period / b.limit
	local unusedIn = math.ceil(unreservedIn + refill)
	if unusedIn > 0 then
		redis.call('SET', b.key, value, 'PX', math.ceil(unusedIn / 1000))
	else
		redis.call('DEL', b.key)
	end
	local index = KEYS[marks + nBuckets + i]
	local id = string.sub(b.key, #index + 1)
	if id ~= '' then -- pcall: for an account without these commands only the index is missing
		redis.pcall('ZADD', index, now + unusedIn, id)
		redis.pcall('ZREMRANGEBYSCORE', index, '-inf', now)
		local longest = maxUsed * b.period + 2 * day -- until a bucket has refilled, at most
		redis.pcall('EXPIRE', index, math.ceil(longest / 1000000))
	end
end

-- Change the states last: without the right to SET, the script fails at a bucket, before it deletes
-- the key of the call.
for i = 1, marks do
	changeState(i)
end

return made
