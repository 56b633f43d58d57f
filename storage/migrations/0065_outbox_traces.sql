-- The span that promised an effect, as the header `traceparent` of W3C has it. NULL if the request is not traced.
ALTER TABLE outbox ADD COLUMN trace text CHECK (length(trace) <= 64);
