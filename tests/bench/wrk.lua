-- The last line of wrk's output, for wrk.py: requests, microseconds, p50, p99, failures.
function done(summary, latency, requests)
   local errors = summary.errors
   local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
   local p50, p99 = latency:percentile(50), latency:percentile(99)
   io.write(string.format("\n%d %d %d %d %d\n", summary.requests, summary.duration, p50, p99, failed))
end
