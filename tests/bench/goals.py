"""The goals beside the figures: milliseconds of CPU an operation, of the server and PostgreSQL together, on one core.

They are for the whole database, on the machine on which they were set. A difference under a fifth means nothing.
"""

GOALS = {
    "home": "0.1",
    "public": "0.12",
    "tag": "0.12",
    "status": "0.05",
    "verify": "0.035",
    "notifications": "0.2",
    "instance": "0.03",
    "deep": "1",
    "cold status": "1.5",
    "cold deep": "1",
    "cold home": "5",
    "post": "1.8",
    "posts at once": "1.5",
    "crowd": "6",
    "large crowd": "20",
    "sockets": "6, p99 25 ms",
    "many sockets": "36",
    # 1 % of a core, at the intervals in which a program looks by default; an answer to a person within 100 ms.
    "look top": "20, p99 100 ms",
    "look tree": "p99 100 ms",
    "look actor": "p99 100 ms",
    "look streams": "p99 100 ms",
    "look metrics": "150",
}
LISTENING = "0.8"  # seconds
IDLE = "65"  # MiB of the server
HOME = "16"  # KiB
STREAM = "10"  # KiB
