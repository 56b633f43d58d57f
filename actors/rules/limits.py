"""The limits of all input. How texts are counted is in `lengths.py`.

The figures are the same as in Mastodon 4.5. `configuration` of `/api/v2/instance` publishes them under the names given.
Web and mobile clients have them built in, so with other figures users would learn of a limit only by a refusal.

The server is one event loop: while a text is read, all other requests wait. So each reader has a largest text, and no
text blocks the loop for 50 ms. `python -m tests.fuzz --minutes 10` gives the readers the worst known texts and searches
for worse; `tests/rules/test_costs.py` counts characters, items and calls. CPU of the worst text found, on the machine
that `make bench` names, in milliseconds:

    text                              largest text that is read         further limits                               CPU
    HTML of other servers             131,072 characters, of source     2,000 tags (else its text alone), 4,096       30
                                      and result                        characters of a tag, 6 passes
    a post of another server          as HTML; a warning of 16,384                                                    31
    its tags                          1,000, 100 of them hashtags       50 hashtags, 100 people, 100 emoji are kept   31
    a whole note with its files       32,768 characters, else in a      an element of a list counts as 1,024          40
                                      thread                            characters; read once; beside the loop
    a post, a biography               100,000 code points, 500          500 links, mentions and hashtags, 2,048       25
                                      visible characters                characters of a link
    a post in Markdown                10,000 characters, else plain     1,500 signs (else plain text), 20 nested      15
                                      text                              blocks; parsed once
    1,000 filter keywords, a status   10,000 characters of the status   one pass for all keywords, once for each      21
                                      in 40,000 of its HTML             viewer, five statuses of a page at a time
    a hashtag                         1,000 code points                                                                1
"""

# statuses.max_characters, .characters_reserved_per_url, .max_media_attachments
STATUS_CHARACTERS = 500
URL_WEIGHT = 23
STATUS_MEDIA = 4
STATUS_MEDIA_ELSEWHERE = 16  # of a post of another server, whose own limit is not known
# A visible character can have any number of combining marks. Storage takes this many code points, well under its
# checks.
TEXT_CODE_POINTS = 100_000
SPOILER_CODE_POINTS = 16_384

# polls.max_options, .max_characters_per_option, .min_expiration, .max_expiration (a month of 30.436875 days)
POLL_OPTIONS_MIN = 2
POLL_OPTIONS = 4
POLL_OPTION_CHARACTERS = 50
POLL_SECONDS_MIN = 300
POLL_SECONDS = 2_629_746

# accounts.max_display_name_length, .max_note_length, .max_profile_fields, .profile_field_name_limit,
# .profile_field_value_limit, .max_pinned_statuses, .max_featured_tags
DISPLAY_NAME_CHARACTERS = 30
NOTE_CHARACTERS = 500
FIELDS = 4
FIELD_NAME_CHARACTERS = 255
FIELD_VALUE_CHARACTERS = 255
PINS = 5
FEATURED_TAGS = 10
ALIASES = 20  # some servers read no more
LISTS = 50
PINS_ELSEWHERE = 20  # of an account on another server: the limit of that server is not known
REACTION_KINDS = 8  # to an announcement, from all accounts together
ANNOUNCEMENT_CHARACTERS = 5_000
BLOCK_COMMENT_CHARACTERS = 2_000
LIST_TITLE_CHARACTERS = 256

# Of filters. The counts are for each account. The cost of reading grows with the length of all keywords together.
FILTERS = 250
FILTER_TITLE_CHARACTERS = 256
FILTER_KEYWORDS = 1_000
FILTER_KEYWORD_CHARACTERS = 512
FILTER_KEYWORDS_CHARACTERS = 10_000
FILTER_STATUSES = 1_000
FILTER_SECONDS = 100 * 365 * 24 * 60 * 60

# media_attachments.description_limit, .image_size_limit, .image_matrix_limit, .video_size_limit, .video_matrix_limit,
# .video_frame_rate_limit; the sizes in bytes, the matrices in pixels
MEDIA_DESCRIPTION_CHARACTERS = 1500
MIB = 1024 * 1024
IMAGE_BYTES = 16 * MIB
PICTURE_BYTES = 8 * MIB  # of an avatar or a header; not published. The reference server takes as much since 4.4
EMOJI_BYTES = 256 * 1024  # of a custom emoji; not published
IMAGE_PIXELS = 33_177_600
VIDEO_BYTES = 99 * MIB
VIDEO_PIXELS = 8_294_400
VIDEO_FRAMES_PER_SECOND = 120

# Not published; the error texts that name them are in the API's pages.
APPLICATION_NAME_CHARACTERS = 60
PASSWORD_CHARACTERS_MIN = 8
PASSWORD_CHARACTERS = 72  # bytes that bcrypt reads; kept, so that passwords can move between servers
EMAIL_CHARACTERS = 320
FOLLOWS = 7_500  # above this, at most a tenth more than the account has followers
MUTE_SECONDS = 100 * 365 * 24 * 60 * 60  # a longer mute is shortened to this
FOLLOWED_TAGS = 500  # each is a part of the query that rebuilds the home timeline
SCHEDULED_STATUSES = 300
SCHEDULED_STATUSES_A_DAY = 25
REPORT_COMMENT_CHARACTERS = 1_000
REPORT_STATUSES = 50  # staff reads them all at once
REPORT_NOTE_CHARACTERS = 2_000
