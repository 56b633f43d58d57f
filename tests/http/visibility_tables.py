"""The visibility tables: who sees what, for every kind of viewer and every surface that shows a status or an account.

They are written by hand after the API's pages on visibility, blocks and mutes; nothing here asks the code that
decides. A cell holds the visibilities that are seen: p(ublic), u(nlisted), f(ollowers, which is private), d(irect).
`test_visibility.py` asks for each of them; its world is made in `matrix.py`.
"""

# The name of a viewer says how they stand to the author: a `follower` follows the author, all posts name the
# `mentioned`. The `distant` and `domain-blocking` viewers look at an author of another server. All viewers follow Tom,
# who boosts. The columns:
#
# sees     the status by its id, in every request about it
# boost    a boost of the status by its id
# poll     the poll of the status
# thread   above and below other statuses in `context`
# search   in search results
# found    in search results after the viewer has favourited it and the author has left the search index
# home     in the home timeline and in lists
# shared   at home when Tom has boosted it, or when the viewer has
# tag      at home when the viewer follows a hashtag of it
# open     in public timelines and, answers too, in tag timelines
# profile  on the author's profile
# tom      as a boost on Tom's profile
# told     in notifications that are not mentions
# named    in mentions
# letters  in conversations
# past     versions from before the edit that first named the `mentioned`
TABLE = """
                           sees boost poll thread search found home shared tag  open profile tom told named letters past
anonymous                  pu   pu    p    pu     -      -     -    -      -    p    pu      pu  -    -     -       pu
stranger                   pu   pu    pu   pu     p      pu    -    pu     p    p    pu      pu  pu   -     pu      pu
staff                      pu   pu    pu   pu     p      pu    -    pu     p    p    pu      pu  pu   -     pu      pu
follower                   puf  puf   puf  puf    p      puf   puf  puf    puf  p    puf     pu  puf  -     puf     puf
mentioned                  pufd pu    pufd pufd   pufd   pufd  -    pu     p    p    pufd    pu  pufd pufd  pufd    pu
mentioned follower         pufd puf   pufd pufd   pufd   pufd  pufd pufd   pufd p    pufd    pu  pufd pufd  pufd    puf
blocked follower           -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
blocked mentioned          fd   -     fd   -      -      -     -    -      -    -    -       -   fd   pufd  fd      -
blocking follower          pu   pu    pu   -      -      -     -    -      -    -    pu      -   -    -     -       pu
blocking mentioned         pufd pu    pufd -      -      -     -    -      -    -    pufd    -   -    -     -       pu
muting follower            puf  puf   puf  -      -      -     -    -      -    -    puf     -   -    -     -       puf
muting mentioned follower  pufd puf   pufd -      -      -     -    -      -    -    pufd    -   -    -     -       puf
author                     pufd puf   pufd pufd   pufd   pufd  pufd pufd   pufd p    pufd    pu  -    -     pufd    pufd
distant stranger           pu   pu    pu   pu     p      pu    -    pu     p    p    pu      pu  pu   -     pu      pu
distant follower           puf  puf   puf  puf    p      puf   puf  puf    puf  p    puf     pu  puf  -     puf     puf
domain-blocking stranger   pu   pu    pu   -      -      -     -    -      -    -    pu      -   -    -     pu      pu
domain-blocking follower   puf  puf   puf  -      -      -     -    -      -    -    puf     -   puf  -     puf     puf
domain-blocking mentioned  pufd pu    pufd -      -      -     -    -      -    -    pufd    -   -    -     pufd    pu
"""

# Who may act on a status. A viewer who sees the status and is not in these cells is refused.
DOING = """
                           likes boosts votes mutes pins
anonymous                  -     -      -     -     -
stranger                   pu    pu     pu    -     -
staff                      pu    pu     pu    -     -
follower                   puf   pu     puf   -     -
mentioned                  pufd  pu     pufd  pufd  -
mentioned follower         pufd  pu     pufd  pufd  -
blocked follower           -     -      -     -     -
blocked mentioned          -     -      -     fd    -
blocking follower          -     -      -     -     -
blocking mentioned         -     -      -     pufd  -
muting follower            puf   pu     puf   -     -
muting mentioned follower  pufd  pu     pufd  pufd  -
author                     pufd  puf    -     pufd  puf
distant stranger           pu    pu     pu    -     -
distant follower           puf   pu     puf   -     -
domain-blocking stranger   pu    pu     pu    -     -
domain-blocking follower   puf   pu     puf   -     -
domain-blocking mentioned  pufd  pu     pufd  pufd  -
"""

# A silenced author: threads and search show the posts to followers only, public timelines to no viewer.
SILENCED = """
                           sees boost poll thread search found home shared tag  open profile tom told named letters past
anonymous                  pu   pu    p    -      -      -     -    -      -    -    pu      pu  -    -     -       pu
stranger                   pu   pu    pu   -      -      -     -    pu     -    -    pu      pu  pu   -     pu      pu
follower                   puf  puf   puf  puf    p      puf   puf  puf    puf  -    puf     pu  puf  -     puf     puf
mentioned                  pufd pu    pufd -      -      -     -    pu     -    -    pufd    pu  pufd pufd  pufd    pu
mentioned follower         pufd puf   pufd pufd   pufd   pufd  pufd pufd   pufd -    pufd    pu  pufd pufd  pufd    puf
author                     pufd puf   pufd pufd   pufd   pufd  pufd pufd   pufd -    pufd    pu  -    -     pufd    pufd
"""

# A suspended author: nothing is shown.
SUSPENDED = """
                           sees boost poll thread search found home shared tag  open profile tom told named letters past
anonymous                  -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
stranger                   -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
follower                   -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
mentioned                  -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
mentioned follower         -    -     -    -      -      -     -    -      -    -    -       -   -    -     -       -
"""

# The answer is 200 for the column's cells, else 404. `post` is by the author. `answer` is the author's reply to Tom,
# below Tom's `root` and above Tom's `leaf`. `boost` is a boost of `shared`, by Tom, or by the author if it is private.
BY_ID = """
sees  GET  /api/v1/statuses/<post>
sees  GET  /api/v1/statuses/<answer>
sees  GET  /api/v1/statuses/<shared>
sees  GET  /api/v1/statuses/<post>/context
sees  GET  /api/v1/statuses/<post>/history
sees  GET  /api/v1/statuses/<post>/source
sees  GET  /api/v1/statuses/<post>/favourited_by
sees  GET  /api/v1/statuses/<post>/reblogged_by
sees  GET  /api/v1/statuses/<post>/quotes
boost GET  /api/v1/statuses/<boost>
boost GET  /api/v1/statuses/<boost>/context
boost GET  /api/v1/statuses/<boost>/history
boost GET  /api/v1/statuses/<boost>/source
boost GET  /api/v1/statuses/<boost>/favourited_by
boost GET  /api/v1/statuses/<boost>/reblogged_by
boost GET  /api/v1/statuses/<boost>/quotes
poll  GET  /api/v1/polls/<poll>
told  GET  /api/v1/notifications/<news>
named GET  /api/v1/notifications/<mention>
told  GET  /api/v2/notifications/ungrouped-<news>
named GET  /api/v2/notifications/ungrouped-<mention>
never GET  /api/v1/media/<medium>
never POST /api/v1/statuses/<post>/translate
never POST /api/v1/statuses/<post>/quotes/<post>/revoke
"""

# What an account shows of itself and of its follows, while it shows its network (o) and while it hides it (h). Tom
# follows the author, and all viewers follow Tom; the author follows and endorses Sam and features a hashtag. All have
# favourited the author's posts, so the author is `suggested` to viewers that may want to follow it.
NETWORK = """
                           account followers following endorsed featured familiar directory suggested
anonymous                  oh      o         o         oh       oh       -        oh        -
stranger                   oh      o         o         oh       oh       o        oh        oh
staff                      oh      o         o         oh       oh       o        oh        oh
follower                   oh      o         o         oh       oh       o        oh        -
mentioned                  oh      o         o         oh       oh       o        oh        oh
mentioned follower         oh      o         o         oh       oh       o        oh        -
blocked follower           oh      -         -         -        -        -        -         -
blocked mentioned          oh      -         -         -        -        -        -         -
blocking follower          oh      o         o         oh       oh       o        -         -
blocking mentioned         oh      o         o         oh       oh       o        -         -
muting follower            oh      o         o         oh       oh       o        -         -
muting mentioned follower  oh      o         o         oh       oh       o        -         -
author                     oh      oh        oh        oh       oh       oh       oh        -
distant stranger           oh      o         o         oh       oh       o        oh        oh
distant follower           oh      o         o         oh       oh       o        oh        -
domain-blocking stranger   oh      o         o         oh       oh       o        -         -
domain-blocking follower   oh      o         o         oh       oh       o        -         -
domain-blocking mentioned  oh      o         o         oh       oh       o        -         -
"""

# The same of a silenced author: neither in the directory nor among suggestions, and `found` by followers only.
NETWORK_OF_SILENCED = """
                           account followers following endorsed featured familiar directory suggested sought
anonymous                  oh      o         o         oh       oh       -        -         -         -
stranger                   oh      o         o         oh       oh       o        -         -         -
follower                   oh      o         o         oh       oh       o        -         -         oh
mentioned                  oh      o         o         oh       oh       o        -         -         -
mentioned follower         oh      o         o         oh       oh       o        -         -         oh
author                     oh      oh        oh        oh       oh       oh       -         -         oh
"""

# The same of a suspended author.
NETWORK_OF_SUSPENDED = """
                           account followers following endorsed featured familiar directory suggested sought
anonymous                  -       -         -         -        -        -        -         -         -
stranger                   -       -         -         -        -        -        -         -         -
follower                   -       -         -         -        -        -        -         -         -
mentioned                  -       -         -         -        -        -        -         -         -
mentioned follower         -       -         -         -        -        -        -         -         -
"""

# Where the author of this server is found by its name, and where others show it. Tom follows Ada, who follows Sam.
OF_ADA = """
sought  GET /api/v2/search?q=ada&type=accounts                    "id":"<author>"
sought  GET /api/v1/accounts/search?q=ada                         "id":"<author>"
account GET /api/v1/accounts/lookup?acct=ada                      "note":"me"
account GET /api/v1/accounts/<tom>/following                      "id":"<author>"
account GET /.well-known/webfinger?resource=acct:ada@localhost:3000   "http://webfinger.net/rel/profile-page"
"""

# The column, the request, and the text that the answer holds where the cell has the letter.
ABOUT_ACCOUNTS = """
account   GET /api/v1/accounts/<author>                           "acct"
account   GET /api/v1/accounts?id[]=<author>                      "note":"me"
followers GET /api/v1/accounts/<author>/followers                 "acct":"tom"
following GET /api/v1/accounts/<author>/following                 "acct":"sam"
endorsed  GET /api/v1/accounts/<author>/endorsements              "acct":"sam"
featured  GET /api/v1/accounts/<author>/featured_tags             "name":"matrix"
familiar  GET /api/v1/accounts/familiar_followers?id[]=<author>   "acct":"tom"
directory GET /api/v1/directory?limit=80                          "id":"<author>"
directory GET /api/v1/directory?limit=80&order=new                "id":"<author>"
suggested GET /api/v1/suggestions?limit=80                        "id":"<author>"
suggested GET /api/v2/suggestions?limit=80                        "id":"<author>"
"""

# Endpoints that show accounts and have no row above, with the reason.
OF_THE_VIEWER = {
    "GET /api/v1/accounts/verify_credentials": "the viewer's own",
    "GET /api/v1/accounts/relationships": "the viewer's own relations",
    "GET /api/v1/accounts/search": "accounts that are open to all viewers, or that the viewer follows",
    "GET /api/v1/accounts/lookup": "an account by its handle, shown as by its id",
    "GET /api/v1/accounts/<>/lists": "the viewer's own lists",
    "GET /api/v1/accounts/<>/identity_proofs": "there are none",
}

# Pages of statuses: `kind:column` for each kind of post that may be in the answer. An `aside` is a reply to an account
# without followers, so it is in the author's home timeline only. An `echo` is boosted by every viewer. Quin quotes each
# `post`.
PAGES = """
GET  /api/v1/statuses?<every>                                post:sees
GET  /api/v1/statuses/<leaf>/context                         answer:thread
GET  /api/v1/statuses/<root>/context                         answer:thread
GET  /api/v1/statuses/<revised>/history                      revised:sees earlier:past
GET  /api/v1/accounts/<author>/statuses?limit=40             post:profile answer:profile aside:profile shared:profile
GET  /api/v1/accounts/<author>/statuses?pinned=true          post:pinned answer:never aside:never shared:never
GET  /api/v1/accounts/<author>/statuses?tagged=matrix&limit=40         post:profile answer:profile aside:profile
GET  /api/v1/accounts/<author>/statuses?only_media=true&limit=40       post:profile answer:profile aside:profile
GET  /api/v1/accounts/<author>/statuses?exclude_replies=true&limit=40  post:profile answer:never aside:never
GET  /api/v1/accounts/<author>/statuses?exclude_reblogs=true&limit=40  post:profile answer:profile aside:profile
GET  /api/v1/accounts/<tom>/statuses?limit=40                shared:tom
GET  /api/v1/accounts/<self>/statuses?limit=40               echo:echoes
GET  /api/v1/statuses/<quoting>                              post:quoted
GET  /api/v1/statuses/<quoting>/history                      post:quoted
GET  /api/v1/statuses?id[]=<quoting>                         post:quoted
POST /api/v1/statuses/<quoting>/bookmark                     post:quoted
POST /api/v1/statuses/<quoting>/reblog                       post:quoted
POST /api/v1/statuses/<quoting>/unreblog                     post:quoted
GET  /api/v1/accounts/<quin>/statuses?limit=40               post:quoted
GET  /api/v1/notifications?types[]=update                    post:told
GET  /api/v1/notifications?types[]=mention                   post:named
GET  /api/v1/notifications?types[]=update&include_filtered=true        post:told
GET  /api/v1/notifications?types[]=mention&include_filtered=true       post:named
GET  /api/v2/notifications?types[]=update                    post:told
GET  /api/v2/notifications?types[]=mention                   post:named
GET  /api/v2/notifications?types[]=update&include_filtered=true        post:told
GET  /api/v2/notifications?types[]=mention&include_filtered=true       post:named
GET  /api/v1/conversations                                   post:letters
POST /api/v1/conversations/<letter>/read                     post:letters
POST /api/v1/conversations/<letter>/unread                   post:letters
GET  /api/v2/search?q=needle&limit=40                        post:search answer:search aside:search shared:search
"""

# The same for timelines that are kept in memory: asked with what they have in memory, and again after a reload.
TIMELINES = """
GET  /api/v1/timelines/home?limit=40                         post:home answer:home aside:own shared:shared echo:shared
GET  /api/v1/timelines/list/<list>?limit=40                  post:home answer:home aside:never shared:shared echo:home
GET  /api/v1/timelines/public?limit=40                       post:open answer:never aside:never shared:open
GET  /api/v1/timelines/public?local=true&limit=40            post:near answer:never aside:never shared:near
GET  /api/v1/timelines/public?remote=true&limit=40           post:far answer:never aside:never shared:far
GET  /api/v1/timelines/public?only_media=true&limit=40       post:open answer:never aside:never shared:open
GET  /api/v1/timelines/tag/matrix?limit=40                   post:open answer:open aside:open shared:open
GET  /api/v1/timelines/tag/else?any[]=matrix&limit=40        post:open answer:open aside:open shared:open
GET  /api/v1/timelines/tag/matrix?only_media=true&limit=40   post:open answer:open aside:open shared:open
"""

# The same after all viewers have followed the hashtag of all posts.
TAGGED = """
GET  /api/v1/timelines/home?limit=40                         post:tag answer:tag aside:own shared:shared
GET  /api/v1/timelines/list/<list>?limit=40                  post:home answer:home aside:never shared:shared
"""

# The same after all viewers have favourited and bookmarked everything and the authors have left the search index.
KEPT = """
GET  /api/v2/search?q=needle&limit=40                        post:found answer:found aside:found shared:found
GET  /api/v1/favourites?limit=40                             post:sees answer:sees aside:sees shared:sees
GET  /api/v1/bookmarks?limit=40                              post:sees answer:sees aside:sees shared:sees
"""

# The same of posts without a warning, when all have responded to them, and when all have one link.
TRENDS = """
GET  /api/v1/timelines/link?url=https://trio.example&limit=40 post:open answer:open aside:open shared:open
GET  /api/v1/trends/statuses?limit=40                        post:open answer:never aside:never shared:open
"""

# Requests of senders whose notifications are filtered. They show the status of the last mention in the cells of
# `named`, that of the last quote in the cells of `told`.
REQUESTS = """
GET  /api/v1/notifications/requests
GET  /api/v1/notifications/requests/<request>
"""

# The pages for browsers and the feeds. They show the same to all viewers, so only the anonymous row asks them. `feed`
# is the public part of `profile`. The answer is 200 for the column's cells, else 404, or 410 if the author is
# suspended.
WEB_BY_ID = """
sees  GET /@ada/<post>
sees  GET /@ada/<answer>
sees  GET /@ada/<post>/embed
sees  GET /users/ada/statuses/<post>
never GET /@tom/<post>
never GET /@tom/<post>/embed
boost GET /@tom/<boost>
never GET /@tom/<boost>/embed
"""
WEB = """
GET /                                                        post:open answer:never aside:never shared:open
GET /@ada                                                    post:profile answer:never aside:never shared:profile
GET /@ada/with_replies                                       post:profile answer:profile aside:profile shared:profile
GET /@ada/media                                              post:profile answer:profile aside:profile shared:profile
GET /@ada.rss                                                post:feed answer:never aside:never shared:feed
GET /@tom                                                    shared:tom
GET /@tom.rss                                                shared:never
GET /@tom/<leaf>                                             answer:thread
GET /@tom/<root>                                             answer:thread
GET /tags/matrix                                             post:open answer:open aside:open shared:open
GET /tags/matrix.rss                                         post:open answer:open aside:open shared:open
"""

# Requests that act on a status: the column of the viewers who may; the status code for viewers who see the post and may
# not (after the slash: for the author); the request. The last three are for the author alone, and change what the rows
# above ask for.
ACTS = """
likes  403 POST   /api/v1/statuses/<post>/favourite
likes  403 POST   /api/v1/statuses/<boost>/favourite
sees   404 POST   /api/v1/statuses/<post>/unfavourite
boosts 403 POST   /api/v1/statuses/<post>/reblog
boosts 403 POST   /api/v1/statuses/<boost>/reblog
sees   404 POST   /api/v1/statuses/<post>/unreblog
sees   404 POST   /api/v1/statuses/<post>/bookmark
sees   404 POST   /api/v1/statuses/<boost>/bookmark
sees   404 POST   /api/v1/statuses/<post>/unbookmark
mutes  403 POST   /api/v1/statuses/<post>/mute
sees   404 POST   /api/v1/statuses/<post>/unmute
pins   422 POST   /api/v1/statuses/<post>/pin
never  422 POST   /api/v1/statuses/<boost>/pin
sees   404 POST   /api/v1/statuses/<post>/unpin
votes  403/422 POST   /api/v1/polls/<poll>/votes                   {"choices": [0]}
sees   404 POST   /api/v1/statuses                             {"status": "so", "in_reply_to_id": "<post>"}
own    404 PUT    /api/v1/statuses/<post>/interaction_policy   {"quote_approval_policy": "nobody"}
own    404 PUT    /api/v1/statuses/<post>                      {"status": "otherwise"}
own    404 DELETE /api/v1/statuses/<post>
"""

# What open streams get when posts are published: stream, event, `kind:column`. Only Zoe's posts have media here. Quin
# publicly quotes what is `cited`.
STREAMS = """
user                update         post:home answer:home aside:own shared:shared
user                notification   post:named answer:named aside:named
user:notification   notification   post:named answer:named aside:named
user:notification   update         post:never answer:never aside:never shared:never
list                update         post:home answer:home aside:never shared:shared
direct              conversation   post:written answer:written aside:written shared:written
direct              update         post:never answer:never aside:never shared:never
public              update         post:open answer:never aside:never shared:open cited:cited
public:media        update         post:far answer:never aside:never shared:far
public:local        update         post:near answer:never aside:never shared:near cited:cited
public:local:media  update         post:never answer:never aside:never shared:never
public:remote       update         post:far answer:never aside:never shared:far
public:remote:media update         post:far answer:never aside:never shared:far
hashtag             update         post:open answer:open aside:open shared:open cited:cited
hashtag:local       update         post:near answer:near aside:near shared:near cited:cited
"""

# The same when the author of this server edits `post` and `echo`, then deletes `post`, `answer` and `aside`.
CHANGES = """
user                status.update  post:touched echo:echoing
user                notification   echo:echoed
user                delete         post:retracted answer:retracted
user:notification   status.update  post:greeted echo:greeted
user:notification   notification   echo:echoed
list                status.update  post:listed echo:listed
list                delete         post:listed answer:listed aside:never
public              status.update  post:near echo:near
public              delete         post:deleted answer:never aside:never
public:media        status.update  post:never
public:local        status.update  post:near echo:near
public:local        delete         post:deleted answer:never aside:never
hashtag             status.update  post:near echo:near
hashtag             delete         post:deleted answer:deleted aside:deleted
hashtag:local       status.update  post:near echo:near
"""

# Columns for changes only:
#
# touched    the viewer has the post at home or is named in it, and gets its edit
# echoing    the same for an `echo`, which is at home as the viewer's own boost
# greeted    the viewer is named in the post, and gets its edit
# echoed     the viewer has boosted the post, and is notified of its edit
# retracted  the viewer had the post at home or is named in it, and gets its deletion
# deleted    public and tag streams tell all listeners of the deletion
# written    direct posts, in conversations
# listed     home, as lists have it
LIVE = """
                           touched echoing greeted echoed retracted deleted written listed
anonymous                  -       -       -       -      -         p       -       -
stranger                   -       pu      -       pu     -         p       -       -
staff                      -       pu      -       pu     -         p       -       -
follower                   puf     puf     -       pu     puf       p       -       puf
mentioned                  pufd    pufd    pufd    pu     pufd      p       d       -
mentioned follower         pufd    pufd    pufd    pu     pufd      p       d       pufd
blocked follower           -       -       -       -      -         p       -       -
blocked mentioned          -       -       -       -      pufd      p       d       -
blocking follower          -       -       -       -      -         p       -       -
blocking mentioned         -       -       -       -      pufd      p       -       -
muting follower            -       -       -       -      -         p       -       -
muting mentioned follower  -       -       -       -      pufd      p       -       -
author                     pufd    pufd    -       -      pufd      p       d       pufd
distant stranger           -       -       -       -      -         -       -       -
distant follower           -       -       -       -      -         -       -       -
domain-blocking stranger   -       -       -       -      -         -       -       -
domain-blocking follower   -       -       -       -      -         -       -       -
domain-blocking mentioned  -       -       -       -      -         -       -       -
"""

# Endpoints that show statuses or parts of them and have no row above, with the reason.
ELSEWHERE = {
    "GET /api/v1/statuses/<>/card": "always gone",
    "GET /api/oembed": "the same for all viewers; see test_oembed.py",
}
# An endpoint tells something of a status if its answer has one of these entities, or its path starts so.
PARTS = {"OEmbed", "Status", "StatusEdit", "StatusSource", "Poll", "Translation"}
BELOW = ("/api/v1/statuses/<", "/api/v1/polls/<")

# Where the viewer sees (p) a post that names an account which the viewer blocks or mutes. Home, lists and public
# timelines leave it out; elsewhere only the author counts.
NAMING = """
/api/v1/timelines/home                -
/api/v1/timelines/list/{list}         -
/api/v1/timelines/public              -
/api/v1/timelines/tag/matrix          -
/api/v1/accounts/{author}/statuses    p
/api/v1/statuses/{root}/context       p
/api/v1/statuses/{post}               p
/api/v2/search?q=needle               p
"""
