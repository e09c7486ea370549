-- Uses units of buckets, and reserves some for calls that run: in all buckets, or in none if one has
-- less than it needs.
--
-- KEYS are the buckets. A key holds how many units are used, when that was so, in microseconds of the
-- clock of this server, the limit in force, what is reserved until the end of a minute since 1970, and
-- the name of the person:
--
--	1200.5 1795852800000000 1000000 29930880:20000 29930882:40000 =alice
--
-- Used units refill evenly, and what is still reserved after its minute is used. What is given back
-- before its reservation counts as used may leave the used units below 0. A bucket without a key is full.
-- The key without the ID of its person is an index of IDs by the time at which their buckets are full: a
-- sorted set. ARGV has seven values for each bucket:
--
--	period   in which a limit refills, in microseconds
--	limit    units in a period
--	need     units that must be free, else nothing is changed
--	use      units that are used, negative if they are given back
--	reserve  units for a call that runs, negative at its end
--	minute   until which they are reserved; if negative, so many minutes from now
--	name     of the person, or empty
--
-- If buckets refuse, it returns the number of the one that refuses for the longest time, that time, or 0
-- if only calls that run are in the way, the units that are used of it, and the minute in which it was
-- last changed. If none refuses it returns 0, which bucket of a person has used the most of its limit,
-- which of all people, and the minute. Such a bucket is thousandths * 16 + number: how much of its limit
-- is used, and its place in KEYS.
local maxUsed = 8 -- periods: a debt of seven
local kept = 10 * 86400 -- seconds: longer than a bucket may take to be full
local day = 86400000000

local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]

local buckets, refused, wait, used, since = {}, 0, -1, 0, 0
for i, key in ipairs(KEYS) do
	local value = redis.pcall('GET', key)
	if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
		return value
	end
	local b = { used = 0, at = 0, reserved = {} }
	for j, name in ipairs({ 'period', 'limit', 'need', 'use', 'reserve', 'minute' }) do
		b[name] = tonumber(ARGV[7 * (i - 1) + j])
	end
	b.name = ARGV[7 * i]

	local number, at, rest = string.match(tostring(value), '^(%S+) (%d+)([ %d:]*)')
	number, at = tonumber(number), tonumber(at)
	local running, over = 0, 0
	if number ~= nil and number == number and at < now + b.period then -- else it is wrong
		for minute, units in string.gmatch(rest, ' (%d+):(%d+)') do
			local left = tonumber(minute) * 60000000 - now
			if left <= 0 then -- the call has not ended: its process has
				over = over + tonumber(units)
			elseif left < 2 * day then
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
	if b.reserve == 0 then -- it gives back what the call of another process has still reserved
		b.least = 0 - running
	end

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

local minute, ofPerson, ofAll = 0, 0, 0
for i, key in ipairs(KEYS) do
	local b = buckets[i]
	minute = b.minute
	if minute < 0 then
		minute = math.ceil(now / 60000000) - minute
	elseif b.reserve < 0 and minute * 60000000 <= now then -- it counts as used
		b.use = b.use + b.reserve
	end
	b.used = math.min(math.max(b.used + b.use, b.least), maxUsed * b.limit)
	b.reserved[minute] = math.max((b.reserved[minute] or 0) + b.reserve, 0)

	local index, id = string.match(key, '^(.*:)(%x+)$') -- no match: it is of all people, or of none
	local share = math.floor(b.used / b.limit * 1000)
	if share > 0 and id then
		ofPerson = math.max(ofPerson, share * 16 + i)
	elseif share > 0 then
		ofAll = math.max(ofAll, share * 16 + i)
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
	local left = math.ceil(last + math.min(units, maxUsed * b.limit) * b.period / b.limit)
	if left > 0 then
		redis.call('SET', key, value, 'PX', math.ceil(left / 1000))
	else
		redis.call('DEL', key)
	end
	if id then -- pcall: an account without these commands has the limits all the same
		redis.pcall('ZADD', index, now + left, id)
		redis.pcall('ZREMRANGEBYSCORE', index, '-inf', now)
		redis.pcall('EXPIRE', index, kept)
	end
end
return { 0, ofPerson, ofAll, minute }
