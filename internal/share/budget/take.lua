-- Takes units from buckets: from all of them, or from none if one has less than it needs.
--
-- KEYS are the buckets. A key holds the time at which its bucket is full again, in microseconds of
-- the clock of this server; a bucket without a key is full. ARGV has three whole numbers for each
-- bucket, in microseconds of refilling: the period, in which an empty bucket becomes full; what the
-- bucket needs; and what is taken, which is negative if it is given back.
--
-- It returns the number of the bucket that refuses for the longest time and that time, or 0 and 0.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]

local missing, refused, wait = {}, 0, 0
for i, key in ipairs(KEYS) do
	local value = redis.pcall('GET', key)
	if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
		return value
	end
	local full = tonumber(value)
	if full == nil or full ~= full then -- not a number
		full = now
	end

	local period = tonumber(ARGV[3 * i - 2])
	missing[i] = math.min(math.max(full - now, 0), 2 * period)
	local over = missing[i] + ARGV[3 * i - 1] - period
	if over > wait then
		refused, wait = i, over
	end
end
if refused > 0 then
	return {refused, wait}
end

for i, key in ipairs(KEYS) do
	local period = tonumber(ARGV[3 * i - 2])
	local left = math.min(math.max(missing[i] + ARGV[3 * i], 0), 2 * period)
	if left > 0 then
		redis.call('SET', key, string.format('%.0f', now + left), 'PX', math.ceil(left / 1000))
	else
		redis.call('DEL', key)
	end
end
return {0, 0}
