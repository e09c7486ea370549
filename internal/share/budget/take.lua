-- Uses units of buckets, and reserves some for a call that runs. It changes all buckets, or none if
-- one of them has fewer free units than the call needs. Package budget calls it; local.go has the
-- same rules in the same three steps: advance, refuse, change. TestSame compares both.
--
-- KEYS are the buckets. The value of a key begins with the used units, the time since which they
-- refill, in microseconds since 1970 on the clock of this server, and the limit in force. Then come
-- the reserved units, each with the minute since 1970 at whose end they count as used, and the name
-- of the person:
--
--	1200.5 1795852800000000 1000000 29930880:20000 29930882:40000 =alice
--
-- Used units refill evenly. Units that are still reserved after their minute count as used. The used
-- units may be below 0 if a call gives back units before they count as used. Nothing is used of a
-- bucket without a key. Beside the buckets of single people a quota has an index under the key without
-- an ID, such as day:, a sorted set of IDs by the time at which their buckets have refilled. The key
-- all: of a quota of all people is its bucket. ARGV has seven values for each bucket:
--
--	period      time in which a limit refills, in microseconds
--	limit       units in a period
--	need        units that must be free, else nothing is changed
--	use         units that are used; negative if they are given back
--	reserve     units that are reserved for a call that runs; negative at its end
--	untilMinute until which they are reserved, since 1970; if negative, so many minutes from now
--	name        of the person, or empty
--
-- It returns four numbers. If buckets refuse: the number of the bucket that refuses for the longest
-- time; that time in microseconds, or 0 if only calls that run are in the way; the used units of
-- this bucket; the minute in which it was last changed. If none refuses: 0; the most used bucket of
-- the person; the most used bucket of all people; the minute until which units are reserved. A
-- most used bucket, with the largest used part of its limit, is that part in thousandths * 16 + its
-- number; 0 if there is none. Numbers of buckets are places in KEYS, from 1 on.
local maxUsed = 8 -- periods: a bucket may owe seven
local bucketNumbers = 16 -- as in store.go
local kept = 10 * 86400 -- seconds that an index is kept: longer than a bucket may take to refill
local day = 86400000000 -- microseconds

local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]

local buckets, refused, wait, used, since = {}, 0, -1, 0, 0
for i, key in ipairs(KEYS) do
	local value = redis.pcall('GET', key)
	if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
		return value
	end
	local b = { used = 0, at = 0, reserved = {} }
	for j, name in ipairs({ 'period', 'limit', 'need', 'use', 'reserve', 'untilMinute' }) do
		b[name] = tonumber(ARGV[7 * (i - 1) + j])
	end
	b.name = ARGV[7 * i]

	-- Advance the bucket to now (bucketState.advance).
	local number, at, rest = string.match(tostring(value), '^(%S+) (%d+)([ %d:]*)')
	number, at = tonumber(number), tonumber(at)
	local running, over = 0, 0
	if number ~= nil and number == number and at < now + b.period then -- else the value is wrong
		for minute, units in string.gmatch(rest, ' (%d+):(%d+)') do
			local left = tonumber(minute) * 60000000 - now
			if left <= 0 then -- the process has ended before the end of its call
				over = over + tonumber(units)
			elseif left < 2 * day then -- else the clock was wrong
				b.reserved[tonumber(minute)] = tonumber(units)
				running = running + tonumber(units)
			end
		end
		b.at = at
		local refilled = math.max(now - at, 0) * b.limit / b.period
		local least = math.max(math.min(number + over, 0), 0 - running)
		b.used = math.min(math.max(number + over - refilled, least), maxUsed * b.limit)
	end
	b.least = math.min(b.used, 0)
	if b.reserve == 0 then -- may give back units that the call of another process still reserves
		b.least = 0 - running
	end

	-- Refuse, if too little is free (localBuckets.apply).
	local missing = b.used + b.need - b.limit
	local time = math.max(math.ceil(missing * b.period / b.limit), 0)
	if missing + running > 0 and time > wait then
		refused, wait, used, since = i, time, b.used, b.at
	end
	buckets[i] = b
end
if refused > 0 then
	return { refused, wait, math.max(math.ceil(used), 0), math.ceil(since / 60000000) }
end

local untilMinute, ofPerson, ofAll = 0, 0, 0
for i, key in ipairs(KEYS) do -- change the buckets (bucketState.applyChange)
	local b = buckets[i]
	untilMinute = b.untilMinute
	if untilMinute < 0 then
		untilMinute = math.ceil(now / 60000000) - untilMinute
	elseif b.reserve < 0 and untilMinute * 60000000 <= now then -- these count as used already
		b.use = b.use + b.reserve
	end
	b.used = math.min(math.max(b.used + b.use, b.least), maxUsed * b.limit)
	b.reserved[untilMinute] = math.max((b.reserved[untilMinute] or 0) + b.reserve, 0)

	local index, id = string.match(key, '^(.*:)(%x+)$') -- no match: not the bucket of one person
	local share = math.floor(b.used / b.limit * 1000)
	if share > 0 and id then
		ofPerson = math.max(ofPerson, share * bucketNumbers + i)
	elseif share > 0 then
		ofAll = math.max(ofAll, share * bucketNumbers + i)
	end

	local value = string.format('%.17g %.0f %.0f', b.used, now, b.limit)
	local units, last = b.used, 0
	for minute, reserved in pairs(b.reserved) do
		if reserved > 0 then
			value = value .. string.format(' %.0f:%.0f', minute, reserved)
			units = units + reserved
			last = math.max(last, minute * 60000000 - now)
		end
	end
	if b.name ~= '' then
		value = value .. ' =' .. b.name
	end
	local refill = math.min(math.max(units, 0), maxUsed * b.limit) * b.period / b.limit
	local left = math.ceil(last + refill)
	if left > 0 then
		redis.call('SET', key, value, 'PX', math.ceil(left / 1000))
	else
		redis.call('DEL', key)
	end
	if id then -- pcall: for an account without these commands only the index is missing
		redis.pcall('ZADD', index, now + left, id)
		redis.pcall('ZREMRANGEBYSCORE', index, '-inf', now)
		redis.pcall('EXPIRE', index, kept)
	end
end
return { 0, ofPerson, ofAll, untilMinute }
