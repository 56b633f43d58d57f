"""The times that the server waits for a client, in seconds. Every read and every send has one of these deadlines."""

# A connection without a request, or with an incomplete request head, is closed after this time.
KEEP_ALIVE = 75
# A client that does not take what it is sent within this time is disconnected.
SEND = 30
# A client that opens connections and says nothing holds each of them for this time.
TLS_HANDSHAKE = 10
# A trusted proxy has this time to say which client a connection is from.
PROXY_HEADER = 5
# A connection that ends may use this time for its last bytes, and to let the client read them.
CLOSE = 1
# A client that is refused because too many connections are open has this time to send its request.
REFUSAL = 2
# A stopping server waits this long on idle connections, because the next request may be on its way.
LINGER = 0.5
# A client that sends no more may have left, or wait for its answer: it is sent what is ready within this time.
LEFT = 0.5
# Time between two WebSocket pings; `streaming/websocket.py` says why.
PING = 14.0
