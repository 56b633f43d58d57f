"""The documents and activities of other servers: fetched, verified, and applied here by the actors of their accounts.

An account of another server is an actor like a local account: an `AccountActor` at the address `account/ID`, without a
user. An act of a local user on this account is a command to the user's own actor, whose transaction also promises the
activity for the other server. So federation adds no second way to follow, post or count.

An activity is stored before its request is answered (`reception.py`) and applied afterwards (`inbox.py`). Each type has
a handler in `activities/`, which sends a command to the actor of the account that signed the activity. So counts,
notifications, timelines and visibility are those of local accounts. An activity may describe only objects that its
actor owns: an embedded object must be of the actor's server and name the actor as its author. An object that another
actor forwards, or a group announces, is fetched from its own server (`activities/forwarded.py`).

A document is fetched by `fetching.py`. URIs are stored and sent in ASCII and compared in a normal form
(`activitypub/uris.py`). `resolver.py` stores an account if WebFinger also leads from its handle to it. Concurrent
fetches of the same document are merged (`memory/single_flight.py`, `flights.py`). Work that no request waits for is
done by 32 workers, two for each domain (`background_jobs.py`): accounts older than a day, totals, pinned posts, missing
parts of threads, and the latest posts of an account after a follow was accepted. A crash loses this work; it begins
again when it is needed. A command to the author's account joins fetched mentions and quoted posts to a post
(`commands/late_parts.py`), unless the post was edited meanwhile.

Hostile servers are limited, for all hosts below a registered domain together:

- Rows: new accounts and servers (`discoveries.py`). In a day accounts, emoji, hashtags, keys, reports and rows that are
  never deleted (`memory/daily_quotas.py`). The states of a post and the keys of an actor are limited too. A row in
  `hosts` is made for a server that gets deliveries or reads the newer signatures, and deleted after 30 days without
  accounts.
- Memory: the states of 4,096 hosts, running and waiting requests (`outgoing/limiter.py`), 2,000 jobs and 200 of a
  domain (`background_jobs.py`), 1,000 fetches (`flights.py`), and caches with a size.
- Requests: concurrent requests to a domain, and all requests that an activity leads to, with the background jobs that
  follow, whose depth is limited too (`budgets.py`).
- Activities: 6,000 in five minutes.
"""
